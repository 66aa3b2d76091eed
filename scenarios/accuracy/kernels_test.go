package accuracy

import (
	"context"
	"math"
	"strings"
	"testing"

	"sim/fabric/machine"
)

// kernelRow returns a row with the given hardware, parameters, metric and unit.
func kernelRow(hardware, parameters, metric, unit string) *Row {
	return &Row{Hardware: hardware, GPUs: 1, Nodes: 1, Parameters: parseParameters(parameters), Metric: metric, Unit: unit, Value: 1}
}

// predictOne returns the prediction of a row.
func predictOne(t *testing.T, r *Row, without ...string) Prediction {
	t.Helper()
	all, err := Predict(context.Background(), []*Row{r}, Options{Without: without})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// TestGEMMFit checks the typical factor of the rows to which the rates of matrix products were
// fitted, and that a roofline explains them much worse.
func TestGEMMFit(t *testing.T) {
	factor := func(without ...string) float64 {
		var rows []*Row
		for _, r := range Ledger() {
			if classOf(r).name == "gemm" {
				rows = append(rows, r)
			}
		}
		all, err := Predict(context.Background(), rows, Options{Without: without})
		if err != nil {
			t.Fatal(err)
		}
		sum, n := 0.0, 0.0
		for _, p := range all {
			if p.Reason == "" {
				sum += math.Abs(math.Log(p.Ratio()))
				n++
			}
		}
		if n < 27 {
			t.Errorf("got predictions of %g rows, want at least 27", n)
		}
		return math.Exp(sum / n)
	}
	if got := factor(); got > 1.035 {
		t.Errorf("got a typical factor of %.4f, want at most 1.035", got)
	}
	if got := factor(gemmWaves); got < 1.1 {
		t.Errorf("got a typical factor of %.4f without waves, want at least 1.1", got)
	}
}

// TestKernelUnits: rates and times of one kernel agree.
func TestKernelUnits(t *testing.T) {
	const product = "op=gemm;m=4096;n=2048;k=1024;dtype=fp16"
	seconds := predictOne(t, kernelRow("A100", product, "time", "s")).Value
	for unit, want := range map[string]float64{
		"ms": seconds * 1e3, "us": seconds * 1e6, "TFLOP/s": 2 * 4096 * 2048 * 1024 / seconds / 1e12,
		"GB/s": 2 * (4096*1024 + 2048*1024 + 4096*2048) / seconds / 1e9,
	} {
		if got := predictOne(t, kernelRow("A100", product, "rate", unit)); got.Reason != "" || math.Abs(got.Value-want) > 1e-9*want {
			t.Errorf("%s: got %g (%s), want %g", unit, got.Value, got.Reason, want)
		}
	}
	rate := predictOne(t, kernelRow("A100", product, "rate", "TFLOP/s")).Value
	if got, want := predictOne(t, kernelRow("A100", product, "max_rate", "TFLOP/s")).Value, rate*bestShape; math.Abs(got-want) > 1e-9*want {
		t.Errorf("best shape: got %g, want %g", got, want)
	}
}

// TestAttentionRows: causal attention has the rate of full attention if launches do not count, a wider
// head a higher rate, and the backward pass a lower one. FlashAttention 2 is slower on H100 than
// later kernels, and attention that is not fused is slower still.
func TestAttentionRows(t *testing.T) {
	rate := func(parameters string, without ...string) float64 {
		p := predictOne(t, kernelRow("H100", "op=attention_forward;seq=16384;batch=4;"+parameters, "rate", "TFLOP/s"), without...)
		if p.Reason != "" {
			t.Fatalf("%s: %s", parameters, p.Reason)
		}
		return p.Value
	}
	full := rate("head_dim=128")
	if causal := rate("head_dim=128;causal=true"); math.Abs(causal/full-1) > 0.02 {
		t.Errorf("got %g TFLOP/s of causal attention, want about %g", causal, full)
	}
	slower := []string{"head_dim=128", "head_dim=64", "head_dim=64;kernel=Flash Attention 2.0", "head_dim=64;kernel=Standard Attention"}
	for i := range len(slower) - 1 {
		if a, b := rate(slower[i]), rate(slower[i+1]); a <= b {
			t.Errorf("got %g TFLOP/s with %s, want more than %g of %s", a, slower[i], b, slower[i+1])
		}
	}
	if backward := rate("head_dim=128;op=attention_backward"); backward >= full {
		t.Errorf("got %g TFLOP/s of a backward pass, want less than %g", backward, full)
	}
	if got := rate("head_dim=64", attentionRate); got <= full {
		t.Errorf("got %g TFLOP/s at the rate of matrix products, want more than %g", got, full)
	}
}

// TestPrecisionOf: texts of several libraries name the same precisions.
func TestPrecisionOf(t *testing.T) {
	for text, want := range map[string]machine.Precision{
		"fp16": machine.BF16, "BF16": machine.BF16, "bfloat16": machine.BF16, "fp8": machine.FP8, "fp8e4m3": machine.FP8,
		"FP8_E5M2": machine.FP8, "mxfp8": machine.MXFP8, "nvfp4": machine.NVFP4, "mxfp4": machine.NVFP4, "int8": "", "": "",
	} {
		if got := precisionOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestOddKernelRows checks that rows that cannot be posed have a reason.
func TestOddKernelRows(t *testing.T) {
	for _, c := range []struct{ hardware, parameters, unit, want string }{
		{"H100", "op=gemm;m=8;n=8;dtype=fp8", "TFLOP/s", "the row does not state k"},
		{"H100", "op=gemm;m=8;n=8;k=8;dtype=int3", "TFLOP/s", `the number format "int3" has no rate in profiles`},
		{"H100", "op=gemm;m=8;n=8;k=-8;dtype=fp8", "TFLOP/s", "the row has k=-8, not a number greater than 0"},
		{"A100", "op=gemm;m=8;n=8;k=8;dtype=fp8", "TFLOP/s", `machine "a100" has no gpu.peak.fp8`},
		{"H100", "op=gemm;m=8;n=8;k=8;dtype=fp8", "%", `the unit "%" is no time and no rate of a kernel`},
		{"H100", "op=conv", "TFLOP/s", `the operator "conv" has no model`},
		{"H100", "op=attention_forward;heads=many", "TFLOP/s", "the row has heads=many"},
		{"H100", "op=attention_backward;kernel=Standard", "TFLOP/s", "has no model"},
		{"Cerebras", "op=gemm;m=8;n=8;k=8;dtype=fp8", "TFLOP/s", "names no accelerator"},
	} {
		if got := predictOne(t, kernelRow(c.hardware, c.parameters, "rate", c.unit)); !strings.Contains(got.Reason, c.want) {
			t.Errorf("%s: got %q and %g, want %q", c.parameters, got.Reason, got.Value, c.want)
		}
	}
}
