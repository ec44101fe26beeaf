/*
 * The programs of `loops.py` and `models.py` by hand.  Each takes pointers to the elements of its
 * operands and of its results.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../c_code/by_hand.c"

#define PROGRAM(name) void name(const void *const *in, void *const *out)
#define F(i) ((const float *)in[i])
#define OUT(i) ((float *)out[i])

static float largest(float a, float b) { return a > b ? a : b; }

PROGRAM(lorenz) { lorenz_by_hand(F(0), OUT(0)); }

PROGRAM(kalman) { kalman_by_hand(F(0), F(1), F(2), F(3)[0], F(4), OUT(0), OUT(1)); }

#define RING 16
#define RING_STEPS 600

static void turn(const float *restrict s, float *restrict next)
{
    for (int i = 0; i < RING; i++) next[i] = s[i] + 0.01f * sinf(s[(i + 1) % RING] - s[i]);
}

PROGRAM(coupled)
{
    float s[RING], next[RING];
    memcpy(s, F(0), sizeof s);
    for (int t = 0; t < RING_STEPS; t++) {
        turn(s, next);
        memcpy(s, next, sizeof s);
    }
    memcpy(OUT(0), s, sizeof s);
}

PROGRAM(coupled_gradient)
{
    static float path[RING_STEPS + 1][RING];
    float g[RING], slope[RING];
    memcpy(path[0], F(0), sizeof path[0]);
    for (int t = 0; t < RING_STEPS; t++) turn(path[t], path[t + 1]);
    for (int i = 0; i < RING; i++) g[i] = 2.0f * path[RING_STEPS][i];
    for (int t = RING_STEPS - 1; t >= 0; t--) {
        const float *s = path[t];
        for (int i = 0; i < RING; i++) slope[i] = 0.01f * cosf(s[(i + 1) % RING] - s[i]) * g[i];
        for (int i = 0; i < RING; i++) g[i] += slope[(i + RING - 1) % RING] - slope[i];
    }
    memcpy(OUT(0), g, sizeof g);
}

PROGRAM(newton)
{
    float a = F(0)[0], x = a + 1.0f;
    for (int i = 0; i < 2000; i++) x = x - 0.01f * (x * x - a) / (2.0f * x);
    OUT(0)[0] = x;
}

PROGRAM(divergent)
{
    const int32_t *counts = in[0];
    for (int k = 0; k < 4096; k++) {
        float x = 1.0f;
        for (int i = 0; i < counts[k]; i++) x = x * 0.999f + 0.1f;
        OUT(0)[k] = x;
    }
}

static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

PROGRAM(lstm)
{
    float h[16] = {0}, c[16] = {0}, z[64];
    for (int t = 0; t < 200; t++) {
        memcpy(z, F(1), sizeof z);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 64; j++) z[j] += F(2)[16 * t + i] * F(0)[64 * i + j];
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 64; j++) z[j] += h[i] * F(0)[64 * (16 + i) + j];
        for (int i = 0; i < 16; i++) {
            c[i] = sigmoid(z[16 + i]) * c[i] + sigmoid(z[i]) * tanhf(z[32 + i]);
            h[i] = sigmoid(z[48 + i]) * tanhf(c[i]);
        }
        memcpy(OUT(0) + 16 * t, h, sizeof h);
    }
}

PROGRAM(reversed_reads)
{
    float x[100], y[100];
    memcpy(x, F(0), sizeof x);
    for (int t = 0; t < 40; t++) {
        for (int i = 0; i < 100; i++) y[i] = sinf(x[i]) * 1.1f + x[99 - i] * 0.1f;
        memcpy(x, y, sizeof x);
    }
    memcpy(OUT(0), x, sizeof x);
}

#define MASSES 30
#define SPRING_STEPS 200

PROGRAM(springs)
{
    /* The gradient goes back through a linear step; padded by masses at rest. */
    float x[MASSES + 2] = {0}, v[MASSES], gx[MASSES], gv[MASSES + 2] = {0}, energy = 0;
    memcpy(x + 1, F(0), sizeof v);
    memcpy(v, F(0) + MASSES, sizeof v);
    for (int t = 0; t < SPRING_STEPS; t++) {
        for (int i = 0; i < MASSES; i++) v[i] += 0.01f * (x[i] - 2.0f * x[i + 1] + x[i + 2]);
        for (int i = 0; i < MASSES; i++) x[i + 1] += 0.01f * v[i];
    }
    for (int i = 0; i < MASSES; i++) {
        energy += x[i + 1] * x[i + 1] + v[i] * v[i];
        gx[i] = 2.0f * x[i + 1];
        gv[i + 1] = 2.0f * v[i];
    }
    for (int t = 0; t < SPRING_STEPS; t++) {
        for (int i = 0; i < MASSES; i++) gv[i + 1] += 0.01f * gx[i];
        for (int i = 0; i < MASSES; i++) gx[i] += 0.01f * (gv[i] - 2.0f * gv[i + 1] + gv[i + 2]);
    }
    OUT(0)[0] = energy;
    memcpy(OUT(1), gx, sizeof gx);
    memcpy(OUT(1) + MASSES, gv + 1, sizeof gx);
}

PROGRAM(unrolled)
{
    float x[8];
    memcpy(x, F(0), sizeof x);
    for (int t = 0; t < 400; t++) {
        float a = (float)(1.0 - 1e-3 * (t % 7));
        for (int i = 0; i < 8; i++) x[i] = x[i] * a + 0.01f;
        for (int i = 0; i < 8; i++) x[i] = x[i] - 0.02f * (x[i] * x[i]);
    }
    memcpy(OUT(0), x, sizeof x);
}

PROGRAM(tridiagonal)
{
    static float c[1000], d[1000];
    float last_c = 0, last_d = 0, x = 0;
    for (int i = 0; i < 1000; i++) {
        float slope = F(1)[i] - F(0)[i] * last_c;
        c[i] = last_c = F(2)[i] / slope;
        d[i] = last_d = (F(3)[i] - F(0)[i] * last_d) / slope;
    }
    for (int i = 999; i >= 0; i--) OUT(0)[i] = x = d[i] - c[i] * x;
}

#define JOINTS 6

PROGRAM(kinematics)
{
    float x[JOINTS], y[JOINTS], turned = 0, end_x = 0, end_y = 0;
    for (int i = 0; i < JOINTS; i++) {
        turned += F(0)[i];
        x[i] = F(1)[i] * cosf(turned);
        y[i] = F(1)[i] * sinf(turned);
        end_x += x[i];
        end_y += y[i];
    }
    /* The part of the arm behind joint i turns with it. */
    for (int i = JOINTS - 2; i >= 0; i--) {
        x[i] += x[i + 1];
        y[i] += y[i + 1];
    }
    for (int i = 0; i < JOINTS; i++)
        for (int j = 0; j < JOINTS; j++) {
            int k = i > j ? i : j;
            OUT(0)[JOINTS * i + j] = 2.0f * (x[i] * x[j] + y[i] * y[j] -
                                             (end_x - F(2)[0]) * x[k] - (end_y - F(2)[1]) * y[k]);
        }
}

static float logistic(const float *restrict rows, const float *restrict signs,
                      const float *restrict w, float *restrict slope)
{
    float sum = 0;
    for (int j = 0; j < 8; j++) {
        sum += 0.5f * w[j] * w[j];
        if (slope) slope[j] = w[j];
    }
    for (int i = 0; i < 100; i++) {
        float z = 0;
        for (int j = 0; j < 8; j++) z += rows[8 * i + j] * w[j];
        float e = expf(-signs[i] * z);
        if (!slope) {
            sum += log1pf(e);
            continue;
        }
        float factor = -signs[i] * e / (1.0f + e);
        for (int j = 0; j < 8; j++) slope[j] += factor * rows[8 * i + j];
    }
    return sum;
}

PROGRAM(hmc)
{
    float w[8] = {0}, new[8], p[8], slope[8];
    for (int t = 0; t < 50; t++) {
        float change = logistic(F(0), F(1), w, NULL);
        memcpy(new, w, sizeof w);
        memcpy(p, F(2) + 8 * t, sizeof p);
        for (int j = 0; j < 8; j++) change += 0.5f * p[j] * p[j];
        logistic(F(0), F(1), new, slope);
        for (int k = 0; k < 10; k++) {
            for (int j = 0; j < 8; j++) p[j] -= 0.025f * slope[j];
            for (int j = 0; j < 8; j++) new[j] += 0.05f * p[j];
            logistic(F(0), F(1), new, slope);
            for (int j = 0; j < 8; j++) p[j] -= 0.025f * slope[j];
        }
        change -= logistic(F(0), F(1), new, NULL);
        for (int j = 0; j < 8; j++) change -= 0.5f * p[j] * p[j];
        if (logf(F(3)[t]) < change) memcpy(w, new, sizeof w);
        memcpy(OUT(0) + 8 * t, w, sizeof w);
    }
}

PROGRAM(particles)
{
    float x[64] = {0}, moved[64], weights[64];
    for (int t = 0; t < 100; t++) {
        float sum = 0, mean = 0, reached = 0;
        for (int i = 0; i < 64; i++) {
            moved[i] = 0.9f * x[i] + 0.5f * F(1)[64 * t + i];
            weights[i] = expf(-0.5f * (F(0)[t] - moved[i]) * (F(0)[t] - moved[i]));
            sum += weights[i];
        }
        for (int i = 0; i < 64; i++) {
            weights[i] /= sum;
            mean += weights[i] * moved[i];
        }
        reached = weights[0];
        for (int i = 0, chosen = 0; i < 64; i++) {
            float wanted = (i + F(2)[t]) / 64.0f;
            while (chosen < 63 && reached < wanted) reached += weights[++chosen];
            x[i] = moved[chosen];
        }
        OUT(0)[t] = mean;
    }
}

#define UNKNOWNS 10
#define PAIRS 5

static float rosenbrock(const float *restrict x, float *restrict g)
{
    float sum = 0;
    if (g) memset(g, 0, UNKNOWNS * sizeof *g);
    for (int i = 0; i + 1 < UNKNOWNS; i++) {
        float a = x[i + 1] - x[i] * x[i], b = 1.0f - x[i];
        sum += 100.0f * a * a + b * b;
        if (!g) continue;
        g[i + 1] += 200.0f * a;
        g[i] -= 400.0f * a * x[i] + 2.0f * b;
    }
    return sum;
}

static float dot(const float *a, const float *b)
{
    float sum = 0;
    for (int i = 0; i < UNKNOWNS; i++) sum += a[i] * b[i];
    return sum;
}

PROGRAM(lbfgs)
{
    float x[UNKNOWNS], g[UNKNOWNS], d[UNKNOWNS], new[UNKNOWNS], next[UNKNOWNS], alpha[PAIRS];
    float s[PAIRS][UNKNOWNS] = {{0}}, y[PAIRS][UNKNOWNS] = {{0}}, rho[PAIRS] = {0};
    memcpy(x, F(0), sizeof x);
    float f = rosenbrock(x, g);
    for (int t = 0; t < 40; t++) {
        for (int j = 0; j < UNKNOWNS; j++) d[j] = -g[j];
        for (int i = PAIRS - 1; i >= 0; i--) {
            alpha[i] = rho[i] * dot(s[i], d);
            for (int j = 0; j < UNKNOWNS; j++) d[j] -= alpha[i] * y[i][j];
        }
        if (rho[PAIRS - 1] > 0) {
            float scale = dot(s[PAIRS - 1], y[PAIRS - 1]) /
                          largest(dot(y[PAIRS - 1], y[PAIRS - 1]), 1e-20f);
            for (int j = 0; j < UNKNOWNS; j++) d[j] *= scale;
        }
        for (int i = 0; i < PAIRS; i++) {
            float beta = alpha[i] - rho[i] * dot(y[i], d);
            for (int j = 0; j < UNKNOWNS; j++) d[j] += s[i][j] * beta;
        }
        float step = 1.0f, slope = dot(g, d);
        for (;; step *= 0.5f) {
            for (int j = 0; j < UNKNOWNS; j++) new[j] = x[j] + step * d[j];
            if (!(rosenbrock(new, NULL) > f + 1e-4f * step * slope) || !(step > 1e-6f)) break;
        }
        OUT(0)[t] = f = rosenbrock(new, next);
        memmove(s, s + 1, sizeof s - sizeof *s);
        memmove(y, y + 1, sizeof y - sizeof *y);
        memmove(rho, rho + 1, sizeof rho - sizeof *rho);
        for (int j = 0; j < UNKNOWNS; j++) {
            s[PAIRS - 1][j] = new[j] - x[j];
            y[PAIRS - 1][j] = next[j] - g[j];
        }
        float curvature = dot(s[PAIRS - 1], y[PAIRS - 1]);
        rho[PAIRS - 1] = curvature > 1e-10f ? 1.0f / curvature : 0.0f;
        memcpy(x, new, sizeof x);
        memcpy(g, next, sizeof g);
    }
}

PROGRAM(smith_waterman)
{
    const int32_t *a = in[0], *b = in[1];
    int32_t above[100] = {0}, best = 0;
    for (int i = 0; i < 100; i++) {
        int32_t left = 0, corner = 0;
        for (int j = 0; j < 100; j++) {
            int32_t up = above[j], here = corner + (a[i] == b[j] ? 2 : -1);
            int32_t gap = (left > up ? left : up) - 1;
            here = here > gap ? here : gap;
            here = here > 0 ? here : 0;
            corner = up;
            above[j] = left = here;
            best = best > here ? best : here;
        }
    }
    *(int32_t *)out[0] = best;
}

PROGRAM(automaton)
{
    uint8_t cells[258], next[256];
    memcpy(cells + 1, in[0], 256);
    for (int t = 0; t < 200; t++) {
        cells[0] = cells[256];
        cells[257] = cells[1];
        for (int i = 0; i < 256; i++)
            next[i] = (cells[i + 1] | cells[i + 2]) & (uint8_t)~(cells[i] & cells[i + 1] & cells[i + 2]) & 1;
        memcpy(cells + 1, next, 256);
    }
    memcpy(out[0], cells + 1, 256);
}

#define BODIES 16

static void pull(const float x[3][BODIES], const float *restrict mass, float f[3][BODIES])
{
    for (int i = 0; i < BODIES; i++) {
        float fx = 0, fy = 0, fz = 0;
        for (int j = 0; j < BODIES; j++) {
            float dx = x[0][j] - x[0][i], dy = x[1][j] - x[1][i], dz = x[2][j] - x[2][i];
            float near = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float weight = mass[j] * near * near * near;
            fx += weight * dx;
            fy += weight * dy;
            fz += weight * dz;
        }
        f[0][i] = fx;
        f[1][i] = fy;
        f[2][i] = fz;
    }
}

PROGRAM(bodies)
{
    float x[3][BODIES], v[3][BODIES], f[3][BODIES];
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++) {
            x[k][i] = F(0)[3 * i + k];
            v[k][i] = F(1)[3 * i + k];
        }
    pull(x, F(2), f);
    for (int t = 0; t < 100; t++) {
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < BODIES; i++) {
                v[k][i] += 0.005f * f[k][i];
                x[k][i] += 0.01f * v[k][i];
            }
        pull(x, F(2), f);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < BODIES; i++) v[k][i] += 0.005f * f[k][i];
    }
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++) {
            OUT(0)[3 * i + k] = x[k][i];
            OUT(1)[3 * i + k] = v[k][i];
        }
}

PROGRAM(mandelbrot)
{
    for (int row = 0; row < 64; row++)
        for (int column = 0; column < 64; column++) {
            float x = 0, y = 0, a = F(0)[column], b = F(1)[row];
            int i = 0;
            for (; i < 200 && x * x + y * y < 4.0f; i++) {
                float moved = x * x - y * y + a;
                y = 2.0f * x * y + b;
                x = moved;
            }
            ((int32_t *)out[0])[64 * row + column] = i;
        }
}

/*
 * The arithmetic of the program, all levels in all steps.  (With a table of the 1001 prices, and
 * without the levels that the result does not depend on, it would take a few per cent of it.)
 */
PROGRAM(option)
{
    float worth[501], price = F(0)[0], strike = F(1)[0];
    for (int j = 0; j <= 500; j++)
        worth[j] = largest(strike - price * powf(1.01f, 2.0f * j - 500.0f), 0.0f);
    for (int i = 499; i >= 0; i--) {
        float first = worth[0];
        for (int j = 0; j <= 500; j++) {
            float later = 0.999f * (0.51f * (j < 500 ? worth[j + 1] : first) + 0.49f * worth[j]);
            worth[j] = largest(later, strike - price * powf(1.01f, 2.0f * j - (float)i));
        }
    }
    OUT(0)[0] = worth[0];
}
