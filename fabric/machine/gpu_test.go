package machine

import (
	"math"
	"testing"

	"sim/engine"

	"pgregory.net/rapid"
)

// testGPU returns a GPU with round numbers.
func testGPU() *GPU {
	return &GPU{
		Multiprocessors: 10, Launch: 3 * engine.Microsecond, Memory: 8e12, MemoryEfficiency: 0.5,
		Peak: Precisions{BF16: 100, FP8: 200, MXFP8: 200, NVFP4: 400}, Efficiency: Precisions{BF16: 0.8, FP8: 0.7, MXFP8: 0.6, NVFP4: 0.5},
		Attention: Attention{Forward: 0.5, Backward: 0.4, Exponentials: 1, Flash2: 0.3},
	}
}

// drawProduct returns a random product.
func drawProduct(t *rapid.T) Product {
	size := func(name string) float64 { return float64(rapid.IntRange(1, 5000).Draw(t, name)) }
	return Product{
		M: size("m"), N: size("n"), K: size("k"), Count: float64(rapid.IntRange(1, 5).Draw(t, "count")),
		Precision: rapid.SampledFrom([]Precision{BF16, FP8, MXFP8, NVFP4}).Draw(t, "precision"),
	}
}

// TestGEMMBounds: no product is faster than its operations at the reached rate or its bytes at the
// reached memory bandwidth, and none is slower than both after each other with complete tiles and
// one more wave.
func TestGEMMBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, p := testGPU(), drawProduct(t)
		p.Accumulates = rapid.Bool().Draw(t, "accumulates")
		got, launch := g.GEMMTime(p), g.Launch.Seconds()
		memory := 8 * p.Bytes() / 4e12
		if lowest := launch + max(p.FLOPs()/g.GEMMRate(p.Precision), memory); got < lowest*(1-1e-12) {
			t.Errorf("got %g s, want at least %g s", got, lowest)
		}
		whole := p
		whole.M, whole.N = math.Ceil(p.M/tile)*tile, math.Ceil(p.N/tile)*tile
		wave := 10 * 2 * tile * tile * p.K / g.GEMMRate(p.Precision)
		if highest := launch + whole.FLOPs()/g.GEMMRate(p.Precision) + wave + memory; got > highest {
			t.Errorf("got %g s, want at most %g s", got, highest)
		}
	})
}

// TestGEMMMonotone: a larger product takes no less time.
func TestGEMMMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, p := testGPU(), drawProduct(t)
		for name, size := range map[string]*float64{"m": &p.M, "n": &p.N, "k": &p.K, "count": &p.Count} {
			before, old := g.GEMMTime(p), *size
			*size += float64(rapid.IntRange(1, 1000).Draw(t, "more"))
			if got := g.GEMMTime(p); got < before {
				t.Errorf("%s %g instead of %g: got %g s, want at least %g s", name, *size, old, got, before)
			}
		}
	})
}

// TestWaves compares the arithmetic of a product without other costs with tiles that are dealt to
// multiprocessors one by one.
func TestWaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, p := testGPU(), drawProduct(t)
		g.Launch, g.Memory = 0, 1e30
		work := make([]int, g.Multiprocessors)
		next := 0
		for range int(p.Count) {
			for row := 0.0; row < p.M; row += tile {
				for column := 0.0; column < p.N; column += tile {
					work[next%len(work)]++
					next++
				}
			}
		}
		want := float64(work[0]) * 2 * tile * tile * p.K * float64(len(work)) / g.GEMMRate(p.Precision)
		if got := g.GEMMTime(p); math.Abs(got-want) > 1e-9*want {
			t.Errorf("got %g s, want %g s of %d tiles", got, want, next)
		}
	})
}

// TestAttentionTime compares attention with its parts.
func TestAttentionTime(t *testing.T) {
	g := testGPU()
	s := Scores{Pairs: 1e9, FLOPs: 4 * 128 * 1e9}
	launch, exponentials := 3e-6, 1e9/1e12
	if got, want := g.AttentionTime(s, false), launch+exponentials+s.FLOPs/50e12; math.Abs(got-want) > 1e-9*want {
		t.Errorf("forward: got %g s, want %g s", got, want)
	}
	if got, want := g.AttentionTime(s, true), launch+exponentials+2.5*s.FLOPs/40e12; math.Abs(got-want) > 1e-9*want {
		t.Errorf("backward: got %g s, want %g s", got, want)
	}
	g.Attention = Attention{Forward: 1, Backward: 1, Exponentials: 1e9}
	s.FLOPs, s.Bytes = 1, 4e9
	if got, want := g.AttentionTime(s, true), launch+2*8*4e9/4e12; math.Abs(got-want) > 1e-9*want {
		t.Errorf("bytes of a backward pass: got %g s, want %g s", got, want)
	}
}

// TestCheckKernels: each number that is missing is named with the data that determine it.
func TestCheckKernels(t *testing.T) {
	complete := Profile{Name: "x", GPU: *testGPU()}
	if err := complete.CheckKernels(BF16, FP8, MXFP8, NVFP4); err != nil {
		t.Errorf("complete profile: %v", err)
	}
	for key, remove := range map[string]func(*GPU){
		"peak.fp8": func(g *GPU) { g.Peak.FP8 = 0 }, "efficiency.nvfp4": func(g *GPU) { g.Efficiency.NVFP4 = 0 },
		"multiprocessors": func(g *GPU) { g.Multiprocessors = 0 }, "memory_bandwidth": func(g *GPU) { g.Memory = 0 },
		"memory_efficiency": func(g *GPU) { g.MemoryEfficiency = 0 }, "attention.forward": func(g *GPU) { g.Attention.Forward = 0 },
		"attention.backward": func(g *GPU) { g.Attention.Backward = 0 }, "attention.exponentials": func(g *GPU) { g.Attention.Exponentials = 0 },
	} {
		p := complete
		remove(&p.GPU)
		err := p.CheckKernels(BF16, FP8, NVFP4)
		measurements := "rates of matrix products"
		switch key {
		case "memory_bandwidth", "memory_efficiency":
			measurements = "the memory bandwidth of kernels"
		case "attention.forward", "attention.backward", "attention.exponentials":
			measurements = "rates of attention"
		}
		if want := p.Missing("gpu."+key, measurements); err == nil || err.Error() != want.Error() {
			t.Errorf("without %s: got %v, want %v", key, err, want)
		}
	}
}
