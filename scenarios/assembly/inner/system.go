package inner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
	"sim/workloads/trace"
	"sim/workloads/training"
)

// system is a step on a machine: its outermost tier is a system of its own, whose passes are longer by the calls that
// inner tiers carry.
type system struct {
	assembly.System
	of     *Machine
	faster []*Machine // by tier: with its links twice as fast
	outer  string     // what the outermost tier is
	bytes  []float64
	busy   []engine.Time
}

// NewSystem makes the system of a step on tiers, the outermost of which on is the system. Data inside is sent in
// packets of a size, 0 as fluid.
func NewSystem(ctx context.Context, spec training.Spec, of []Tier, seed uint64, packet units.Bytes, outer string, on func(assembly.Longer) (assembly.System, error)) (assembly.System, error) {
	m, err := New(spec, of, seed, packet, -1)
	if err != nil {
		return nil, err
	}
	s := &system{of: m, outer: outer}
	for i := range of {
		fast, err := New(spec, of, seed, packet, i)
		if err != nil {
			return nil, err
		}
		s.faster = append(s.faster, fast)
	}
	if s.bytes, s.busy, err = m.Carried(ctx); err != nil {
		return nil, err
	}
	s.System, err = on(m.Longer)
	return s, err
}

// answer is one of the outermost tier, with what each tier has to do with it.
type answer struct {
	assembly.Answer
	row result.Row
}

func (a *answer) Measured() (result.Row, result.PolicyTimings) {
	_, timings := a.Answer.Measured()
	return a.row, timings
}

func (a *answer) Failure() error { return assembly.Failure(a.Answer) }

func (s *system) Decide(ctx context.Context, policy string, workers int) (assembly.Answer, error) {
	a, err := s.System.Decide(ctx, policy, workers)
	if err != nil {
		return nil, err
	}
	row, _ := a.Measured()
	step, ok := a.(assembly.Stepping)
	if _, done := row.Metrics["makespan_s"]; !ok || !done {
		return a, nil
	}
	row.Metrics, row.Labels = maps.Clone(row.Metrics), maps.Clone(row.Labels)
	if err := s.measure(ctx, &row, step); err != nil {
		return nil, err
	}
	return &answer{a, row}, nil
}

// Work is that of the outermost tier, whose passes are longer by the calls inside.
func (s *system) Work(ctx context.Context, policy string) (*trace.Work, error) {
	return assembly.WorkOf(ctx, s.System, s.outer, policy)
}

// measure says what each tier carries, for how much of the iteration, how much longer this is for it, and how long it
// would be were its links twice as fast.
func (s *system) measure(ctx context.Context, row *result.Row, step assembly.Stepping) error {
	base, err := step.Again(ctx, s.of.Longer, 1)
	if errors.Is(err, assembly.ErrMoving) {
		for i := range len(s.faster) + 1 {
			row.Labels[fmt.Sprintf("tier%d_exposed_s", i+1)] = "undefined: circuits move with the packets of the step"
		}
		return nil
	}
	if err != nil {
		return err
	}
	put := func(i int, bytes float64, busy, without, doubled engine.Time) {
		m, name := row.Metrics, fmt.Sprintf("tier%d_", i+1)
		m[name+"bytes"], m[name+"busy"] = bytes, busy.Seconds()/base.End.Seconds()
		m[name+"exposed_s"], m[name+"doubled_s"] = assembly.ExposedTime(base.End, without), doubled.Seconds()
	}
	var by []string
	for i, fast := range s.faster {
		without, err := step.Again(ctx, s.of.Without(i), 1)
		if err != nil {
			return err
		}
		doubled, err := step.Again(ctx, fast.Longer, 1)
		if err != nil {
			return err
		}
		put(i, s.bytes[i], s.busy[i], without.End, doubled.End)
		by = append(by, s.of.tiers[i].Kind)
	}
	doubled, err := step.Again(ctx, s.of.Longer, 2)
	if err != nil {
		return err
	}
	compute, err := engine.FromSeconds(s.Reference()["compute_makespan_s"])
	if err != nil {
		return err
	}
	put(len(s.faster), base.Bytes, base.Busy, compute, doubled.End)
	row.Labels["tiers"] = strings.Join(append(by, s.outer), ", ")
	row.Labels["tier_calls"] = s.of.words()
	return nil
}

// words says which algorithm or planner carries which calls.
func (m *Machine) words() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, dim := range training.Dims {
		for _, kind := range []training.CallKind{training.AllReduce, training.ReduceScatter, training.AllGather, training.AllToAll} {
			by := map[string]bool{}
			for v := range m.spec.Virtual() {
				for _, pass := range m.spec.ContractedPasses() {
					for _, c := range m.spec.Calls(v, pass) {
						if z := m.known[m.key(v, pass, c)]; c.Dim == dim && c.Kind == kind && z != nil && !by[z.by] {
							by[z.by] = true
							all = append(all, fmt.Sprintf("%v %v by %s", dim, kind, z.by))
						}
					}
				}
			}
		}
	}
	return strings.Join(all, ", ")
}
