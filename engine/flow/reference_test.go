package flow_test

import (
	"cmp"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// reference is a slow and simple simulator. At every event it computes all rates from scratch in
// exact rational arithmetic, over all transfers together.
type reference struct {
	instance
	service   flow.Service
	now       engine.Time // indexed by task; Never before the start is known
	start     []engine.Time
	end       []engine.Time // indexed by task; Never until the end is known
	remaining []*big.Rat    // bits left, indexed by task
	tail      []float64     // longest path from the end to the end of the graph, indexed by task
}

func runReference(in instance, s flow.Service) *reference {
	z := &reference{instance: in, service: s, tail: in.tails()}
	for i := range in.g.Tasks {
		z.start = append(z.start, engine.Never)
		z.end = append(z.end, engine.Never)
		z.remaining = append(z.remaining, rat(8*float64(in.g.Tasks[i].Bytes)))
	}
	for {
		rates := z.rates()
		next := z.next(rates)
		if next == engine.Never {
			break
		}
		span := rat(float64(next - z.now))
		for id, r := range rates {
			z.remaining[id].Sub(z.remaining[id], new(big.Rat).Mul(r, span))
			if z.remaining[id].Sign() <= 0 {
				z.end[id] = next
			}
		}
		z.now = next
	}
	if slices.Contains(z.end, engine.Never) {
		panic("the reference stalls")
	}
	return z
}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// next returns the time of the next start, end or change after now.
func (z *reference) next(rates map[int32]*big.Rat) engine.Time {
	next := engine.Never
	for id, r := range rates {
		if r.Sign() > 0 {
			next = min(next, z.now+ceil(new(big.Rat).Quo(z.remaining[id], r)))
		}
	}
	for _, s := range z.start {
		if s > z.now {
			next = min(next, s)
		}
	}
	for _, c := range z.n.Changes {
		if c.At > z.now {
			next = min(next, c.At)
		}
	}
	return next
}

func ceil(r *big.Rat) engine.Time {
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return engine.Time(q.Int64())
}

// rates starts the tasks that are ready and returns the rate of every running transfer in bits
// per tick.
func (z *reference) rates() map[int32]*big.Rat {
	var open []int32
	for id := range int32(len(z.g.Tasks)) { // edges lead from lower to higher ids
		ready := engine.Time(0)
		for _, e := range z.g.In(id) {
			if z.end[e.From] == engine.Never {
				ready = engine.Never
				break
			}
			ready = max(ready, z.end[e.From]+e.Lag)
		}
		z.start[id] = ready
		if ready == engine.Never || z.end[id] != engine.Never {
			continue
		}
		k := &z.g.Tasks[id]
		if k.Kind == engine.Compute || k.Bytes == 0 || len(z.r.Of(id)) == 0 {
			z.end[id] = ready + engine.Time(z.durationAlone(id)+0.5)
			continue
		}
		if ready <= z.now {
			open = append(open, id)
		}
	}
	free := make([]*big.Rat, z.n.Resources())
	for r := range free {
		free[r] = rat(z.n.Rate(int32(r)))
	}
	for _, c := range z.n.Changes {
		if c.At <= z.now {
			free[c.Link] = rat(c.Rate)
		}
	}
	second := rat(float64(engine.Second))
	for r := range free {
		free[r].Quo(free[r], second)
	}
	out := map[int32]*big.Rat{}
	for len(open) > 0 {
		first := slices.MaxFunc(open, func(a, b int32) int { return cmp.Compare(z.priority(a), z.priority(b)) })
		var group, rest []int32
		for _, id := range open {
			if z.priority(id) == z.priority(first) {
				group = append(group, id)
			} else {
				rest = append(rest, id)
			}
		}
		z.waterFill(group, free, out)
		open = rest
	}
	return out
}

func (z *reference) priority(id int32) float64 {
	switch z.service {
	case flow.TailPriority:
		return z.tail[id]
	case flow.FixedPriority:
		return float64(z.g.Tasks[id].Priority)
	}
	return 0
}

// waterFill raises the rates of group together, in proportion to weight. A transfer stops at a
// saturated resource or at its own limit; the others continue to rise.
func (z *reference) waterFill(group []int32, free []*big.Rat, out map[int32]*big.Rat) {
	second := rat(float64(engine.Second))
	for _, id := range group {
		out[id] = new(big.Rat)
	}
	rising := slices.Clone(group)
	for len(rising) > 0 {
		step := (*big.Rat)(nil)
		lower := func(r *big.Rat) {
			if step == nil || r.Cmp(step) < 0 {
				step = r
			}
		}
		load := make([]*big.Rat, len(free))
		for r := range load {
			load[r] = new(big.Rat)
		}
		for _, id := range rising {
			for _, u := range z.r.Of(id) {
				load[u.Resource].Add(load[u.Resource], new(big.Rat).Mul(z.weight(id), rat(u.Weight)))
			}
			if z.r.FlowCap[id] > 0 {
				limit := new(big.Rat).Quo(rat(z.r.Cap(id, z.g.Tasks[id].Flows)), second)
				lower(limit.Quo(limit.Sub(limit, out[id]), z.weight(id)))
			}
		}
		for r := range free {
			if load[r].Sign() > 0 {
				lower(new(big.Rat).Quo(free[r], load[r]))
			}
		}
		for _, id := range rising {
			out[id].Add(out[id], new(big.Rat).Mul(step, z.weight(id)))
		}
		for r := range free {
			free[r].Sub(free[r], new(big.Rat).Mul(step, load[r]))
		}
		rising = slices.DeleteFunc(rising, func(id int32) bool {
			if z.r.FlowCap[id] > 0 && out[id].Cmp(new(big.Rat).Quo(rat(z.r.Cap(id, z.g.Tasks[id].Flows)), second)) >= 0 {
				return true
			}
			return slices.ContainsFunc(z.r.Of(id), func(u engine.Use) bool { return free[u.Resource].Sign() == 0 })
		})
	}
}

func (z *reference) weight(id int32) *big.Rat {
	return rat(float64(z.g.Tasks[id].Flows))
}

// TestRunAgainstReference compares both simulators on random instances. Both round ends up to
// ticks. Single ends can differ by a tick because of floating-point rounding, and later ends by a
// little more.
func TestRunAgainstReference(t *testing.T) {
	const ticks = 200 // of ends between 1e5 and 1e10 ticks
	for _, s := range []flow.Service{flow.MaxMin, flow.TailPriority, flow.FixedPriority} {
		t.Run(name(s), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				in := drawInstance(t, shape{tasks: 7, dyadic: true, changes: rapid.Bool().Draw(t, "changing")})
				got, want := in.run(t, s), runReference(in, s)
				for id := range in.g.Tasks {
					if d := got.End[id] - want.end[id]; d < -ticks || d > ticks {
						t.Fatalf("task %d ends at %d, in the reference at %d", id, got.End[id], want.end[id])
					}
				}
			})
		})
	}
}
