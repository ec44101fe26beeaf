#include "small_factor_steps.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lapack_step_parts.h"
#include "row_orders.h"
#include "small_factors.h"

namespace morphax::lapack {

namespace {

using small_factors::functions;
using small_factors::Rows;

// Steps of the library's, for matrices that are not ordinary.
class Otherwise {
 public:
  explicit Otherwise(nb::handle steps) {
    for (nb::handle step : steps) steps_.push_back(step_of(nb::cast<nb::tuple>(step)));
  }

  void run(const Places& at) const {
    for (const auto& step : steps_) step->run(at);
  }

 private:
  std::vector<std::unique_ptr<Step>> steps_;
};

template <typename T>
class SmallLu final : public Step {
 public:
  explicit SmallLu(const nb::tuple& d)
      : otherwise_(d[1]),
        a_(d[2]),
        factors_(d[3]),
        pivots_(d[4]),
        order_(d[5]),
        work_(d[6]),
        spare_(d[7]),
        rows_(number(d[8])),
        columns_(number(d[9])),
        apart_(number(d[10])) {}

  void run(const Places& at) const override {
    const Rows<T> a{work_.in<T>(at), rows_, columns_, apart_};
    auto* pivots = pivots_.in<std::int32_t>(at);
    if (!functions<T>().lu(a, a_.in<T>(at), factors_.in<T>(at), pivots, spare_.in<T>(at))) {
      return otherwise_.run(at);
    }
    row_orders::after_exchanges(pivots, static_cast<std::int64_t>(std::min(rows_, columns_)),
                                order_.in<std::int32_t>(at), static_cast<std::int64_t>(rows_), 0);
  }

 private:
  Otherwise otherwise_;
  Where a_, factors_, pivots_, order_, work_, spare_;
  std::size_t rows_, columns_, apart_;
};

template <typename T>
class SmallCholesky final : public Step {
 public:
  explicit SmallCholesky(const nb::tuple& d)
      : otherwise_(d[1]),
        a_(d[2]),
        factor_(d[3]),
        work_(d[4]),
        size_(number(d[5])),
        apart_(number(d[6])) {}

  void run(const Places& at) const override {
    const Rows<T> a{work_.in<T>(at), size_, size_, apart_};
    if (!functions<T>().cholesky(a, a_.in<T>(at), factor_.in<T>(at))) otherwise_.run(at);
  }

 private:
  Otherwise otherwise_;
  Where a_, factor_, work_;
  std::size_t size_, apart_;
};

template <typename T>
class SmallQr final : public Step {
 public:
  explicit SmallQr(const nb::tuple& d)
      : otherwise_(d[1]),
        a_(d[2]),
        q_(d[3]),
        r_(d[4]),
        work_(d[5]),
        work_of_q_(d[6]),
        spare_(d[7]),
        rows_(number(d[8])),
        columns_(number(d[9])),
        inner_(number(d[10])),
        apart_(number(d[11])),
        apart_in_q_(number(d[12])) {}

  void run(const Places& at) const override {
    const Rows<T> a{work_.in<T>(at), rows_, columns_, apart_};
    const Rows<T> q{work_of_q_.in<T>(at), rows_, inner_, apart_in_q_};
    if (!functions<T>().qr(a, q, a_.in<T>(at), q_.in<T>(at), r_.in<T>(at), spare_.in<T>(at))) {
      otherwise_.run(at);
    }
  }

 private:
  Otherwise otherwise_;
  Where a_, q_, r_, work_, work_of_q_, spare_;
  std::size_t rows_, columns_, inner_, apart_, apart_in_q_;
};

}  // namespace

std::unique_ptr<Step> small_step_of(std::string_view name, const nb::tuple& described) {
  if (name == "small lu") return of_reals<SmallLu>(described);
  if (name == "small cholesky") return of_reals<SmallCholesky>(described);
  if (name == "small qr") return of_reals<SmallQr>(described);
  return nullptr;
}

}  // namespace morphax::lapack
