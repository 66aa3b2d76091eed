package reconfigure

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"sim/engine"
	"sim/policies/collective"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
)

// write writes candidates and the plans that they build as text and JSON.
func write(t *testing.T, w io.Writer, list []plan.Candidate) {
	t.Helper()
	for i := range list {
		c := list[i]
		build := c.Build
		c.Build = nil
		fmt.Fprintf(w, "%.9g\n", []any{c.Origin, c.Reconfigurations, c.Slots, c.Steps, c.Fluid, c.FluidBound, c.Waits, c.Relay, c.Proved, c.DelaySlots, c.Switches})
		if build == nil {
			continue
		}
		p, err := build(2, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Seal(); err != nil {
			t.Fatal(err)
		}
		if err := plan.WriteJSON(w, []*plan.Plan{p}); err != nil {
			t.Fatal(err)
		}
	}
}

// Candidates of all planners for small problems, and their plans, equal the stored digests
// per planner. This detects changes of a topology, of the order of chunks and of a bound.
func TestStoredCandidates(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	rng := rand.New(rand.NewPCG(1, 51))
	var problems []*plan.Problem
	for _, size := range [][2]int{{2, 1}, {5, 1}, {6, 2}, {7, 3}, {8, 2}} {
		n := size[0]
		uniform := plan.UniformProblem(n, size[1], 1)
		unequal := &plan.Problem{GPUs: n, Degree: size[1], Seed: 3, Chunks: make([]int32, n*n)}
		for i := range unequal.Chunks {
			if i/n != i%n && rng.IntN(4) > 0 {
				unequal.Chunks[i] = rng.Int32N(4)
			}
		}
		problems = append(problems, uniform, unequal)
	}

	// Which is searched exhaustively.
	few := &plan.Problem{GPUs: 4, Degree: 1, Chunks: make([]int32, 16)}
	few.Chunks[1], few.Chunks[7], few.Chunks[8] = 1, 2, 1
	problems = append(problems, few)
	options := []Options{
		{Settings: Settings{Plus: PlusOptions{Relay: true, Others: true}, During: DuringOptions{Schedule: "best", Relabel: true}}},
		{Settings: Settings{
			Plus: PlusOptions{Relay: true, Buffer: 4}, During: DuringOptions{Schedule: rounds.ByIndex, Base: rounds.GenKautz},
			StaticOptions: StaticOptions{"simulated"}, FASTOptions: FASTOptions{"striped"},
		}, Independent: true},
		{Settings: Settings{
			During: DuringOptions{Schedule: rounds.ByRound, Base: rounds.Circulant}, StaticOptions: StaticOptions{"paths"}, FASTOptions: FASTOptions{"one"},
		}},
	}
	want := map[string]uint64{
		"reconfigure-during":      0x1a0bbe16d1645424,
		"reconfigure-during+":     0xffe2ef2b119206d8,
		"fast":                    0xd21a0f4603c1b9a7,
		"mixnet":                  0xb494cb9f5c9e1b54,
		"topoopt":                 0x2322548f001f2524,
		"directconnect-kautz":     0x51ca730c33c65d22,
		"directconnect-circulant": 0xcd98c517dd1d51d0,
		"static-ring":             0xda8d63ac61034d28,
		"bruck":                   0xd79bfb4ee257de20,
		"spreadout":               0x97d220f6ed0b3389,
		"imported":                0x276ba4cf8ba47f83,
	}
	for _, r := range Table {
		digest := fnv.New64a()
		for _, p := range problems {
			for _, o := range options {
				s := newTestSet(t, p, o)
				list, err := s.Candidates(t.Context(), r.Name)
				if errors.Is(err, ErrUnserved) || errors.Is(err, rounds.ErrOptions) {
					fmt.Fprintln(digest, "none")
					continue
				}
				if err != nil {
					t.Fatalf("%s of %d GPUs: %v", r.Name, p.GPUs, err)
				}
				write(t, digest, list)
				for _, delay := range []engine.Time{0, 500, 20_000} {
					best, err := s.Best(t.Context(), r.Name, func(c *plan.Candidate) engine.Time { return c.Cost(delay, 1000) })
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintln(digest, best.Origin, best.Reconfigurations, best.Slots)
				}
			}
		}
		if got := digest.Sum64(); got != want[r.Name] {
			t.Errorf("%s: digest %#x, want %#x", r.Name, got, want[r.Name])
		}
	}
}

// The same for plans in steps, of all collectives that planners support.
func TestStoredCollectives(t *testing.T) {
	want := map[string]uint64{
		"reconfigure-during+": 0xe964e29fedf21c3a,
		"static-ring":         0x6313e58611e72cd1,
	}
	for _, r := range Table {
		if r.Collective == nil {
			continue
		}
		digest := fnv.New64a()
		for _, op := range []collective.Kind{collective.AllReduce, collective.ReduceScatter, collective.AllGather} {
			for _, size := range [][2]int{{2, 1}, {5, 1}, {6, 2}, {8, 2}, {9, 3}} {
				for _, bytes := range []int64{64, 100_001} {
					list, err := r.Collective(&plan.Collective{GPUs: size[0], Degree: size[1], Op: op, Bytes: bytes, Rate: 8e9, Latency: 500_000, Delay: 3_000_000})
					if err != nil {
						t.Fatal(err)
					}
					write(t, digest, list)
				}
			}
		}
		if got := digest.Sum64(); got != want[r.Name] {
			t.Errorf("%s: digest %#x, want %#x", r.Name, got, want[r.Name])
		}
	}
}
