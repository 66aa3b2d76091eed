package plots

import (
	"cmp"
	"slices"

	"sim/scenarios/result"
)

// planCase is a synthetic all-to-all on circulant topologies with the given offsets per phase.
// Each destination is served in the phase with the shortest path to it.
type planCase struct {
	gpus, degree int
	offsets      [][]int
	bare         bool // contains only the number of busy links
}

// schedule assigns slots to the chunks of GPU 0, the longest path first. All other GPUs use
// the same slots with rotated indices, so the hops of an offset never contend.
func (a planCase) schedule() *result.Schedule {
	n := a.gpus
	out := &result.Schedule{Origin: "circulant, synthetic", GPUs: n, Degree: a.degree, SlotS: 40.5e-6, DelayS: 1e-3}
	paths := make([][][]int, len(a.offsets)) // offsets of the hops, indexed by phase and destination
	for p, offsets := range a.offsets {
		paths[p] = make([][]int, n)
		queue := []int{0}
		for len(queue) > 0 {
			u := queue[0]
			queue = queue[1:]
			for _, o := range offsets {
				if v := (u + o) % n; v != 0 && paths[p][v] == nil {
					paths[p][v] = append(slices.Clone(paths[p][u]), o)
					queue = append(queue, v)
				}
			}
		}
	}
	for p, offsets := range a.offsets {
		type chunk struct {
			dst, at int
			path    []int
		}
		var chunks []*chunk
		for d := 1; d < n; d++ {
			best := p
			for q := range paths {
				if paths[q][d] != nil && (paths[best][d] == nil || len(paths[q][d]) < len(paths[best][d])) {
					best = q
				}
			}
			if best == p && !slices.ContainsFunc(paths[:p], func(w [][]int) bool { return len(w[d]) == len(paths[p][d]) }) {
				chunks = append(chunks, &chunk{d, 0, slices.Clone(paths[p][d])})
			}
		}
		ph := result.SchedulePhase{}
		for u := range n {
			for _, o := range offsets {
				ph.Edges = append(ph.Edges, [2]int{u, (u + o) % n})
			}
		}
		for len(chunks) > 0 {
			slices.SortStableFunc(chunks, func(a, b *chunk) int { return cmp.Compare(len(b.path), len(a.path)) })
			free, moved := slices.Clone(offsets), 0
			for _, c := range chunks {
				for i, o := range c.path {
					k := slices.Index(free, o)
					if k < 0 {
						continue
					}
					free = slices.Delete(free, k, k+1)
					c.path = slices.Delete(c.path, i, i+1)
					for s := range n {
						ph.Sent = append(ph.Sent, [6]int{ph.Slots, (s + c.at) % n, (s + c.at + o) % n, s, (s + c.dst) % n, 0})
					}
					c.at += o
					moved++
					break
				}
			}
			ph.Busy = append(ph.Busy, moved*n)
			ph.Slots++
			chunks = slices.DeleteFunc(chunks, func(c *chunk) bool { return len(c.path) == 0 })
		}
		if a.bare {
			ph.Sent = nil
		}
		out.Phases = append(out.Phases, ph)
	}
	return out
}

// spreadOffsets returns d phases of one offset each, over n GPUs.
func spreadOffsets(n, d int) [][]int {
	var out [][]int
	for i := range d {
		out = append(out, []int{1 + i*(n-1)/d})
	}
	return out
}

// kautzPlan returns a static generalised Kautz graph with its loops and without transmissions.
func kautzPlan(n, k int) *result.Schedule {
	s := &result.Schedule{Origin: "kautz", GPUs: n, Degree: k, SlotS: 40.5e-6, DelayS: 1e-3}
	var ph result.SchedulePhase
	for u := range n {
		for a := 1; a <= k; a++ {
			ph.Edges = append(ph.Edges, [2]int{u, ((-k*u-a)%n + n) % n})
		}
	}
	ph.Slots, ph.Busy = 3, []int{n, k * n, n / 2}
	s.Phases = append(s.Phases, ph)
	return s
}

// stepRun returns count steps with a message of the given bytes at 800 Gb/s and a latency of
// 500 ns.
func stepRun(count int, bytes int64) result.ScheduleRun {
	return result.ScheduleRun{Count: count, Bytes: bytes, StepS: 500e-9 + float64(bytes)*8/800e9}
}

// phaseCase returns a phase of steps on a circulant topology; without offsets, on the topology
// of the previous phase.
func phaseCase(gpus int, kind string, offsets []int, steps ...result.ScheduleRun) result.SchedulePhase {
	ph := result.SchedulePhase{Kind: kind, Reused: offsets == nil, Offsets: offsets, Steps: steps}
	for u := range gpus {
		for _, o := range offsets {
			ph.Edges = append(ph.Edges, [2]int{u, (u + o) % gpus})
		}
	}
	return ph
}

// stepsPlan returns an all-reduce in steps with every kind of phase, on three topologies.
func stepsPlan() *result.Schedule {
	return &result.Schedule{
		Origin: "scatter, exchange, fold and gather, synthetic", GPUs: 8, Degree: 2, DelayS: 2e-6, LatencyS: 500e-9, RateBitsPerS: 800e9,
		Phases: []result.SchedulePhase{
			phaseCase(8, "scatter", []int{1, 4}, stepRun(2, 500_000), stepRun(1, 250_000)),
			phaseCase(8, "exchange", []int{2, 6}, stepRun(1, 250_000)),
			phaseCase(8, "fold", nil, stepRun(2, 125_000)),
			phaseCase(8, "gather", []int{1, 4}, stepRun(1, 250_000), stepRun(2, 500_000)),
		},
	}
}

// ringSteps returns an all-reduce on a ring of 64 GPUs, in 126 steps.
func ringSteps() *result.Schedule {
	return &result.Schedule{
		Origin: "ring 64", GPUs: 64, Degree: 1, DelayS: 1e-6, LatencyS: 500e-9, RateBitsPerS: 800e9,
		Phases: []result.SchedulePhase{phaseCase(64, "scatter", []int{1}, stepRun(63, 15_625)), phaseCase(64, "gather", nil, stepRun(63, 15_625))},
	}
}

// largeSteps returns a plan with too many topologies and links to draw, and with steps too
// short to distinguish.
func largeSteps() *result.Schedule {
	s := &result.Schedule{Origin: "large", GPUs: 1 << 14, Degree: 8, DelayS: 1e-3, LatencyS: 500e-9, RateBitsPerS: 800e9}
	for i := range 12 {
		ph := result.SchedulePhase{Kind: "gather", Links: 8 << 14, Steps: []result.ScheduleRun{stepRun(2000, int64(1000+i)), stepRun(1, 0)}}
		if i%2 == 0 {
			ph.Offsets, ph.Links = []int{1, 1 << i}, 2<<14 // which can be drawn all the same
		}
		s.Phases = append(s.Phases, ph)
	}
	return s
}

// plans are the plans that are drawn in tests.
var plans = map[string]func() *result.Schedule{
	"ring":  planCase{8, 1, [][]int{{1}, {7}}, false}.schedule,
	"pair":  planCase{8, 2, [][]int{{2, 3}}, false}.schedule,
	"three": planCase{16, 2, [][]int{{1, 4}, {3, 5}, {15, 7}}, false}.schedule,
	"many":  planCase{64, 1, spreadOffsets(64, 20), false}.schedule,
	"long":  planCase{48, 1, [][]int{{1}}, false}.schedule,
	"bare":  planCase{256, 2, [][]int{{11, 12}, {1, 255}, {3, 50}}, true}.schedule,
	"steps": stepsPlan,
	"turns": ringSteps,
	"large": largeSteps,
	"kautz": func() *result.Schedule { return kautzPlan(8, 2) },
}

func planRun(names ...string) makeRun {
	return func() (*result.Document, *result.Detail) {
		doc, d := &result.Document{Scenario: "plans"}, &result.Detail{Title: "All to all, a chunk of 4 MB a pair, 800 Gb/s a link"}
		for _, n := range names {
			doc.Rows = append(doc.Rows, result.Row{Policy: n})
			d.Policies = append(d.Policies, result.Simulation{Policy: n, Schedule: plans[n]()})
		}
		return doc, d
	}
}
