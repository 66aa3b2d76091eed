package pack

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// drawProblem draws a problem with very unequal flows, some of them empty.
func drawProblem(t *rapid.T, maxGPUs int) *plan.Problem {
	n := rapid.IntRange(2, maxGPUs).Draw(t, "n")
	p := &plan.Problem{GPUs: n, Degree: rapid.IntRange(1, min(3, n-1)).Draw(t, "k"), Chunks: make([]int32, n*n)}
	for i := range p.Chunks {
		if i/n != i%n {
			p.Chunks[i] = rapid.OneOf(rapid.Int32Range(0, 3), rapid.Int32Range(0, 20)).Draw(t, "chunks")
		}
	}
	return p
}

// drawSequence draws topologies of random permutations. Some lack links; most start with a
// ring.
func drawSequence(t *rapid.T, n, k int) Sequence {
	var s Sequence
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "sequence"), 3))
	for i := range rapid.IntRange(1, 5).Draw(t, "d") {
		var e scaleup.Topology
		for j := range k {
			if i == 0 && j == 0 && r.IntN(3) > 0 {
				e = append(e, scaleup.Circulant(n, 1)...)
				continue
			}
			for u, v := range r.Perm(n) {
				if r.IntN(10) > 0 {
					e = append(e, scaleup.Edge{From: int32(u), To: int32(v)})
				}
			}
		}
		s.Topologies = append(s.Topologies, e)
	}
	return s
}

// Every plan passes the check, has the slots of its candidate and fits the allowed buffer.
// No plan beats a bound. If there is no plan, brute force confirms the reason.
func TestPlansMatchTheirCandidates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 9)
		s := drawSequence(t, p.GPUs, p.Degree)
		o := Options{Relay: rapid.Bool().Draw(t, "relay")}
		if rapid.Bool().Draw(t, "limited") {
			o.Buffer = rapid.Int32Range(1, 12).Draw(t, "buffer")
		}
		r, err := fitSequence(p, s, o)
		if err != nil {
			if !errors.Is(err, ErrUnreachable) && !errors.Is(err, ErrBuffer) {
				t.Fatal(err)
			}
			want := ErrUnreachable
			if canReachAll(p, s, o.Relay) {
				want = ErrBuffer
			}
			if !errors.Is(err, want) || want == ErrBuffer && canReachAll(p, s, false) {
				t.Fatalf("%v, want %v", err, want)
			}
			return
		}
		c := r.Candidate("here")
		q, err := c.Build(0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Check(); err != nil {
			t.Fatal(err)
		}
		if q.TotalSlots() != c.Slots || len(q.Topologies) != c.Reconfigurations || q.Relay != c.Relay || q.Relay && !o.Relay {
			t.Fatalf("the plan has %d slots in %d topologies, relay %v; the candidate %+v", q.TotalSlots(), len(q.Topologies), q.Relay, c)
		}
		for i := range q.Slots {
			last := int32(0)
			for _, x := range q.Tx {
				if x.Phase == int32(i) {
					last = max(last, x.Slot+1)
				}
			}
			if last != q.Slots[i] {
				t.Fatalf("phase %d ends after %d of %d slots", i, last, q.Slots[i])
			}
		}
		if o.Buffer > 0 && (q.Buffer > o.Buffer || q.Buffer != r.Buffer) {
			t.Fatalf("the plan holds %d chunks in transit, the schedule %d, the limit is %d", q.Buffer, r.Buffer, o.Buffer)
		}
		b, err := boundsOf(p, len(s.Topologies))
		if err != nil {
			t.Fatal(err)
		}
		bound := b.Forward
		if r.Relay {
			bound = b.Relay
		}
		if c.Slots < bound || c.Slots < r.Bound {
			t.Fatalf("%d slots, below the bounds %d of any topologies and %d of these", c.Slots, bound, r.Bound)
		}
	})
}

// canReachAll reports by brute force whether all chunks can arrive.
func canReachAll(p *plan.Problem, s Sequence, relay bool) bool {
	n := p.GPUs
	for u := range n {
		ever, now := make([]bool, n), make([]bool, n)
		now[u] = true
		for _, t := range s.Topologies {
			if !relay {
				clear(now)
				now[u] = true
			}
			for range n {
				for _, e := range t {
					now[e.To] = now[e.To] || now[e.From]
				}
			}
			for v := range n {
				ever[v] = ever[v] || now[v]
			}
		}
		for v := range n {
			if p.Chunks[u*n+v] > 0 && !ever[v] {
				return false
			}
		}
	}
	return true
}

// With relaying under a buffer limit, where many chunks rest, no GPU ever holds more chunks
// than allowed.
func TestBuffersAreLimited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawDemand(8, rapid.IntRange(1, 2).Draw(t, "k"), "zipf", 4, rapid.Uint64Range(0, 50).Draw(t, "seed"))
		list := circulantSequences(8, p.Degree, rapid.IntRange(2, 3).Draw(t, "d"), true, nil)
		o := Options{Relay: true, Buffer: rapid.Int32Range(3, 25).Draw(t, "buffer")}
		r, err := fitSequence(p, list[len(list)-1], o)
		if err != nil {
			t.Fatal(err)
		}
		q, err := r.Plan("limited")
		if err != nil {
			t.Fatal(err)
		}
		if q.Buffer > o.Buffer || q.Buffer != r.Buffer || q.TotalSlots() != r.Total {
			t.Fatalf("%d chunks in transit, schedule %d, limit %d; %d slots, schedule %d", q.Buffer, r.Buffer, o.Buffer, q.TotalSlots(), r.Total)
		}
	})
}

// The incremental state of an assignment equals its recomputation from the columns: loads,
// weights, and all chunks of each flow.
func TestPathAssignmentState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 8)
		q := drawSequence(t, p.GPUs, p.Degree)
		var s pathAssignment
		s.init(newTimeNetwork(q.Topologies, p.GPUs), p.Chunks, rapid.Bool().Draw(t, "relay"))
		if err := s.improve(rapid.IntRange(0, 5).Draw(t, "rounds"), 4, func(int64) error { return nil }); err != nil {
			return
		}
		load, sent := make([]int32, len(s.links)), make([]int32, len(p.Chunks))
		for c, x := range s.columnChunks {
			sent[s.columnFlow[c]] += x
			for _, l := range s.path(int32(c)) {
				load[l] += x
			}
		}
		stored := make([]int32, len(s.links))
		for l, k := range s.links {
			stored[l] = k.load
		}
		if !slices.Equal(load, stored) || !slices.Equal(sent, p.Chunks) {
			t.Fatalf("loads %v, stored %v; %v sent of %v", load, stored, sent, p.Chunks)
		}
		for i, f := range s.phases {
			sum := 0.0
			for _, k := range s.links[s.net.base[i]:s.net.base[i+1]] {
				sum += k.weight
			}
			if math.Abs(sum-f.sum) > 1e-6*sum {
				t.Fatalf("phase %d: weights %v, stored %v", i, sum, f.sum)
			}
		}
	})
}
