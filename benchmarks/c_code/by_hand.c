/* The programs of `programs.py` as somebody would write them in C. */
#include <math.h>

enum { BATCH = 32, IN = 16, HIDDEN = 64, OUT = 4, STATES = 4, STEPS = 500, LORENZ_STEPS = 1000 };

void mlp_by_hand(const float *restrict w1, const float *restrict b1, const float *restrict w2,
                 const float *restrict b2, const float *restrict x, const float *restrict y, float rate,
                 float *loss, float *restrict new_w1, float *restrict new_b1, float *restrict new_w2,
                 float *restrict new_b2)
{
    static float h[BATCH][HIDDEN], dout[BATCH][OUT], dh[BATCH][HIDDEN];
    static float dw1[IN][HIDDEN], db1[HIDDEN], dw2[HIDDEN][OUT], db2[OUT];
    float sum = 0.0f;
    for (int n = 0; n < BATCH; n++) {
        for (int j = 0; j < HIDDEN; j++) h[n][j] = b1[j];
        for (int i = 0; i < IN; i++)
            for (int j = 0; j < HIDDEN; j++) h[n][j] += x[n * IN + i] * w1[i * HIDDEN + j];
        for (int j = 0; j < HIDDEN; j++) h[n][j] = tanhf(h[n][j]);
        for (int k = 0; k < OUT; k++) dout[n][k] = b2[k] - y[n * OUT + k];
        for (int j = 0; j < HIDDEN; j++)
            for (int k = 0; k < OUT; k++) dout[n][k] += h[n][j] * w2[j * OUT + k];
        for (int k = 0; k < OUT; k++) {
            sum += dout[n][k] * dout[n][k];
            dout[n][k] *= 2.0f / (BATCH * OUT);
        }
    }
    *loss = sum / (BATCH * OUT);
    for (int j = 0; j < HIDDEN; j++) {
        db1[j] = 0.0f;
        for (int k = 0; k < OUT; k++) dw2[j][k] = 0.0f;
    }
    for (int i = 0; i < IN; i++)
        for (int j = 0; j < HIDDEN; j++) dw1[i][j] = 0.0f;
    for (int k = 0; k < OUT; k++) db2[k] = 0.0f;
    for (int n = 0; n < BATCH; n++) {
        for (int k = 0; k < OUT; k++) db2[k] += dout[n][k];
        for (int j = 0; j < HIDDEN; j++) {
            float s = 0.0f;
            for (int k = 0; k < OUT; k++) {
                dw2[j][k] += h[n][j] * dout[n][k];
                s += dout[n][k] * w2[j * OUT + k];
            }
            dh[n][j] = s * (1.0f - h[n][j] * h[n][j]);
            db1[j] += dh[n][j];
        }
        for (int i = 0; i < IN; i++)
            for (int j = 0; j < HIDDEN; j++) dw1[i][j] += x[n * IN + i] * dh[n][j];
    }
    for (int i = 0; i < IN * HIDDEN; i++) new_w1[i] = w1[i] - rate * ((float *)dw1)[i];
    for (int j = 0; j < HIDDEN; j++) new_b1[j] = b1[j] - rate * db1[j];
    for (int j = 0; j < HIDDEN * OUT; j++) new_w2[j] = w2[j] - rate * ((float *)dw2)[j];
    for (int k = 0; k < OUT; k++) new_b2[k] = b2[k] - rate * db2[k];
}

static void product(const float a[restrict STATES][STATES], const float b[restrict STATES][STATES],
                    float c[restrict STATES][STATES])
{
    for (int i = 0; i < STATES; i++) {
        for (int j = 0; j < STATES; j++) c[i][j] = 0.0f;
        for (int k = 0; k < STATES; k++)
            for (int j = 0; j < STATES; j++) c[i][j] += a[i][k] * b[k][j];
    }
}

void kalman_by_hand(const float *restrict f, const float *restrict q, const float *restrict seen,
                    float r, const float *restrict z, float *restrict means, float *restrict covariance)
{
    float m[STATES] = {0}, p[STATES][STATES] = {{0}}, step[STATES][STATES], turned[STATES][STATES];
    for (int i = 0; i < STATES; i++) {
        p[i][i] = 1.0f;
        for (int j = 0; j < STATES; j++) {
            step[i][j] = f[i * STATES + j];
            turned[j][i] = f[i * STATES + j];
        }
    }
    for (int t = 0; t < STEPS; t++) {
        float next[STATES] = {0}, half[STATES][STATES], moved[STATES][STATES], ph[STATES], s = r, e = z[t];
        for (int i = 0; i < STATES; i++)
            for (int k = 0; k < STATES; k++) next[i] += step[i][k] * m[k];
        product((const float (*)[STATES])step, (const float (*)[STATES])p, half);
        product((const float (*)[STATES])half, (const float (*)[STATES])turned, moved);
        for (int i = 0; i < STATES; i++)
            for (int j = 0; j < STATES; j++) moved[i][j] += q[i * STATES + j];
        for (int i = 0; i < STATES; i++) {
            ph[i] = 0.0f;
            for (int k = 0; k < STATES; k++) ph[i] += moved[i][k] * seen[k];
        }
        for (int i = 0; i < STATES; i++) {
            s += seen[i] * ph[i];
            e -= seen[i] * next[i];
        }
        for (int i = 0; i < STATES; i++) {
            m[i] = next[i] + ph[i] / s * e;
            means[t * STATES + i] = m[i];
            for (int j = 0; j < STATES; j++) p[i][j] = moved[i][j] - ph[i] / s * ph[j];
        }
    }
    for (int i = 0; i < STATES; i++)
        for (int j = 0; j < STATES; j++) covariance[i * STATES + j] = p[i][j];
}

static void slope(const float s[3], float d[3])
{
    d[0] = 10.0f * (s[1] - s[0]);
    d[1] = s[0] * (28.0f - s[2]) - s[1];
    d[2] = s[0] * s[1] - 8.0f / 3.0f * s[2];
}

void lorenz_by_hand(const float *restrict start, float *restrict end)
{
    const float h = 0.01f;
    float s[3] = {start[0], start[1], start[2]}, k1[3], k2[3], k3[3], k4[3], a[3];
    for (int t = 0; t < LORENZ_STEPS; t++) {
        slope(s, k1);
        for (int i = 0; i < 3; i++) a[i] = s[i] + 0.5f * h * k1[i];
        slope(a, k2);
        for (int i = 0; i < 3; i++) a[i] = s[i] + 0.5f * h * k2[i];
        slope(a, k3);
        for (int i = 0; i < 3; i++) a[i] = s[i] + h * k3[i];
        slope(a, k4);
        for (int i = 0; i < 3; i++) s[i] += h / 6.0f * (k1[i] + 2.0f * k2[i] + 2.0f * k3[i] + k4[i]);
    }
    for (int i = 0; i < 3; i++) end[i] = s[i];
}
