// The extension module morphax._native: each subject binds itself in a file of its own.
#include <nanobind/nanobind.h>

#include "bit_counts.h"
#include "broken_lines.h"
#include "buffers.h"
#include "calls.h"
#include "contexts.h"
#include "convolutions.h"
#include "draws.h"
#include "extreme_places.h"
#include "extremes.h"
#include "foreign.h"
#include "fused.h"
#include "garbage.h"
#include "host_memory.h"
#include "incomplete_beta.h"
#include "incomplete_gamma.h"
#include "indexing.h"
#include "kernels.h"
#include "keys.h"
#include "lapack.h"
#include "library_handlers.h"
#include "machine_functions.h"
#include "many_numbers.h"
#include "nan_spread.h"
#include "outer_products.h"
#include "philox.h"
#include "process_end.h"
#include "products.h"
#include "random.h"
#include "replay.h"
#include "reversal.h"
#include "row_orders.h"
#include "row_reductions.h"
#include "running.h"
#include "searching.h"
#include "sequential.h"
#include "small_programs.h"
#include "sparse_products.h"
#include "staging.h"
#include "taking.h"
#include "transposition.h"
#include "tree.h"
#include "triangles.h"
#include "window_ranks.h"
#include "workers.h"

NB_MODULE(_native, module) {
  module.doc() = "Compiled parts of morphax; each has a Python twin that defines its behaviour.";
  // Arrays that live until the interpreter is gone keep their pool: no leak worth a report.
  nanobind::set_leak_warnings(false);
  // Changes with the functions below; `morphax/util/compiled.py` has it too.
  module.attr("interface") = 51;
  morphax::bind_host_memory(module);
  nanobind::module_ buffers = module.def_submodule("buffers", "Python's buffer protocol.");
  morphax::buffers::bind(buffers);
  nanobind::module_ contexts = module.def_submodule("contexts", "Contexts that surely end.");
  morphax::contexts::bind(contexts);
  nanobind::module_ convolutions =
      module.def_submodule("convolutions", "Convolutions of few numbers.");
  morphax::convolutions::bind(convolutions);
  nanobind::module_ extreme_places =
      module.def_submodule("extreme_places", "Places of maxima and minima.");
  morphax::extreme_places::bind(extreme_places);
  nanobind::module_ extremes = module.def_submodule("extremes", "Maxima and minima.");
  morphax::extremes::bind(extremes);
  nanobind::module_ process_end =
      module.def_submodule("process_end", "Threads while the interpreter ends.");
  morphax::process_end::bind(process_end);
  nanobind::module_ philox = module.def_submodule("philox", "Random bits by Philox.");
  morphax::philox::bind(philox);
  nanobind::module_ incomplete_beta =
      module.def_submodule("incomplete_beta", "The incomplete beta function.");
  morphax::incomplete_beta::bind(incomplete_beta);
  nanobind::module_ incomplete_gamma =
      module.def_submodule("incomplete_gamma", "Incomplete gamma functions and their slopes.");
  morphax::incomplete_gamma::bind(incomplete_gamma);
  nanobind::module_ foreign = module.def_submodule("foreign", "Functions of other languages.");
  morphax::foreign::bind(foreign);
  nanobind::module_ fused = module.def_submodule("fused", "Chains of elementwise operations.");
  morphax::fused::bind(fused);
  nanobind::module_ garbage = module.def_submodule("garbage", "Callbacks of the collector.");
  morphax::garbage::bind(garbage);
  nanobind::module_ tree = module.def_submodule("tree", "Trees; see morphax/tree/_core.py.");
  morphax::tree::bind(tree);
  nanobind::module_ calls = module.def_submodule("calls", "Calls of jitted functions.");
  morphax::calls::bind(calls);
  nanobind::module_ sequential = module.def_submodule("sequential", "Loops of few numbers.");
  morphax::sequential::bind(sequential);
  nanobind::module_ kernels = module.def_submodule("kernels", "Kernels of the reference engine.");
  morphax::kernels::bind(kernels);
  morphax::bit_counts::bind(kernels);
  morphax::broken_lines::bind(kernels);
  morphax::outer_products::bind(kernels);
  morphax::reversal::bind(kernels);
  morphax::searching::bind(kernels);
  morphax::sparse_products::bind(kernels);
  morphax::taking::bind(kernels);
  morphax::transposition::bind(kernels);
  morphax::triangles::bind(kernels);
  nanobind::module_ keys = module.def_submodule("keys", "Keys of parameters.");
  morphax::keys::bind(keys);
  nanobind::module_ lapack = module.def_submodule("lapack", "LAPACK for stacks of matrices.");
  morphax::lapack::bind(lapack);
  nanobind::module_ handlers =
      module.def_submodule("library_handlers", "LAPACK for compiled programs.");
  morphax::library_handlers::bind(handlers);
  nanobind::module_ machine = module.def_submodule("machine_functions", "Machine code of ours.");
  morphax::machine_functions::bind(machine);
  nanobind::module_ many = module.def_submodule("many_numbers", "NumPy's functions, by threads.");
  morphax::many_numbers::bind(many);
  morphax::row_reductions::bind(many);
  nanobind::module_ random = module.def_submodule("random", "Numbers drawn from keys.");
  morphax::random::bind(random);
  morphax::draws::bind(random);
  nanobind::module_ bits = module.def_submodule("random_bits", "Random bits, for XLA.");
  morphax::random::bind_handler_of_bits(bits);
  nanobind::module_ indexing = module.def_submodule("indexing", "Elements of eager Arrays.");
  morphax::indexing::bind(indexing);
  nanobind::module_ replay = module.def_submodule("replay", "Eager calls of known programs.");
  morphax::replay::bind(replay);
  nanobind::module_ nan_spread =
      module.def_submodule("nan_spread", "NaN beside NaN in factorisations.");
  morphax::nan_spread::bind(nan_spread);
  nanobind::module_ row_orders = module.def_submodule("row_orders", "Orders of rows.");
  morphax::row_orders::bind(row_orders);
  nanobind::module_ running = module.def_submodule("running", "Running sums and their like.");
  morphax::running::bind(running);
  nanobind::module_ products = module.def_submodule("products", "Products of large matrices.");
  morphax::products::bind(products);
  nanobind::module_ small = module.def_submodule("small_programs", "Programs on few numbers.");
  morphax::small_programs::bind(small);
  nanobind::module_ staging = module.def_submodule("staging", "Equations that are written again.");
  morphax::staging::bind(staging);
  nanobind::module_ window_ranks =
      module.def_submodule("window_ranks", "Samples of a rank in windows.");
  morphax::window_ranks::bind(window_ranks);
  nanobind::module_ workers = module.def_submodule("workers", "Threads that share operations.");
  morphax::workers::bind(workers);
}
