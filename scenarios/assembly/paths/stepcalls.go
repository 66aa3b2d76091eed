package paths

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sim/engine"
	algorithm "sim/policies/collective"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/result"
	"sim/workloads/collective"
	"sim/workloads/training"
)

// stepCalls expands the collective calls of a training step.
type stepCalls struct {
	ctx       context.Context
	r         *routed
	algorithm algorithm.Row
	direct    algorithm.Row // all-to-alls that it does not serve go straight to where they are wanted
	place     []int32       // by rank: its node
	made      map[stepCall]*algorithm.Schedule
}

// stepCall is what calls have in common that the same schedule serves, wherever in a pass they are: groups of one
// dimension have different first ranks.
type stepCall struct {
	call  training.Call
	first int32
}

// stepCalls returns what expands the calls of ranks on some nodes.
func (r *routed) stepCalls(ctx context.Context, place []int32) (*stepCalls, error) {
	e := &stepCalls{ctx: ctx, r: r, place: place, made: map[stepCall]*algorithm.Schedule{}}
	var err error
	if e.algorithm, err = algorithm.ByName(r.s.Workload.Algorithm); err == nil {
		e.direct, err = algorithm.ByName("direct")
	}
	return e, err
}

// schedule returns what a call among a group of ranks is expanded to.
func (e *stepCalls) schedule(c training.Call, group []int32) (*algorithm.Schedule, error) {
	c.Place = training.Before // of none in particular
	key := stepCall{c, group[0]}
	if s, ok := e.made[key]; ok {
		return s, nil
	}
	kind, err := algorithm.ParseKind(c.Kind.String())
	if err != nil {
		return nil, err
	}
	p := &algorithm.Problem{Call: algorithm.Call{Kind: kind, Bytes: c.Bytes}, Network: e.r.seen()}
	if c.Draw > 0 {
		if p.Sizes, err = e.sizes(c, len(group)); err != nil {
			return nil, err
		}
	}
	if e.r.Torus != nil {
		p.Torus = e.r.Torus
	}
	for _, rank := range group {
		p.Group = append(p.Group, e.place[rank])
	}
	s, err := e.algorithm.Expand(e.ctx, p, e.r.s.Workload.Options)
	if errors.Is(err, algorithm.ErrUnserved) && kind == algorithm.AllToAll {
		s, err = e.direct.Expand(e.ctx, p, algorithm.Options{})
	}
	if err != nil {
		return nil, err
	}
	if c.Draw == 0 { // others are hardly asked for again
		e.made[key] = s
	}
	return s, nil
}

// sizes draws the sizes of an all-to-all, from row to column.
func (e *stepCalls) sizes(c training.Call, ranks int) ([]int64, error) {
	seed := training.Stream(e.r.s.Seed, fmt.Sprintf("experts %d", c.Draw)).Uint64()
	sizes, err := collective.ZipfSizes(ranks, c.Bytes, e.r.s.Workload.ExpertExponent, seed)
	if err != nil || !c.Transposed {
		return sizes, err
	}
	back := make([]int64, len(sizes))
	for i := range ranks {
		for k := range ranks {
			back[k*ranks+i] = sizes[i*ranks+k]
		}
	}
	return back, nil
}

// expand adds a call to a graph.
func (e *stepCalls) expand(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
	s, err := e.schedule(c, group)
	if err != nil {
		return nil, err
	}
	return s.Append(g, algorithm.Attach{Ready: ready}), nil
}

// tasks returns how many tasks the calls of a step add to its graph. It fails where the algorithm does not serve one.
func (e *stepCalls) tasks() (n float64, err error) {
	t := &e.r.s.Workload.Spec
	for v := range t.PP * t.Chunks {
		for _, pass := range []training.Phase{training.Forward, training.Backward, training.Sync} {
			for _, c := range t.Calls(v, pass) {
				replicas, times := t.Replicas(), float64(t.Pieces(v)*t.Microbatches)
				if pass == training.Sync {
					replicas, times = 1, float64(t.SyncPieces(v))
				}
				for replica := range replicas {
					for _, group := range t.Groups(c, replica, v%t.PP) {
						s, err := e.schedule(c, group)
						if errors.Is(err, algorithm.ErrUnserved) {
							_, why, _ := strings.Cut(err.Error(), algorithm.ErrUnserved.Error()+": ")
							err = fmt.Errorf("%s does not serve the %s calls of the step: %s", e.algorithm.Name, c.Dim, why)
						}
						if err != nil {
							return 0, err
						}
						n += times * float64(len(s.Transfers)+len(group))
					}
				}
			}
		}
	}
	return n, nil
}

// layStep lays the calls of a training step out.
func layStep(r *routed, _ int64, where []string) ([]string, error) {
	if r.s.Workload.Collectives != "graph" {
		return nil, nil
	}
	hardware, err := r.s.Fabric.Build()
	if err != nil {
		return where, err
	}
	one := &routed{s: r.s, System: hardware}
	e, err := one.stepCalls(context.Background(), r.s.ranks(one.Torus, int(one.Whole.Nodes), one.Down).Slots)
	if err != nil {
		return where, err
	}
	n, err := e.tasks()
	if err != nil {
		return append([]string{"policy.collective", "workload.tp", "workload.cp", "workload.ep", "workload.gpus"}, where...), err
	}
	if n > circuits.MaxTasks {
		return []string{"workload.pieces", "workload.microbatches", "workload.gpus"},
			fmt.Errorf("the collective calls of the step make %.2g transfers; want fewer pieces of a pass, micro-batches or GPUs, for at most %d", n, circuits.MaxTasks)
	}
	return nil, nil
}

// exposed measures what the calls of each dimension expose: how much sooner the iteration would end if they took no
// time.
func (a *routedAnswer) exposed(ctx context.Context) error {
	r := a.r
	if _, done := a.row.Metrics[r.end()]; r.it == nil || !done {
		return nil
	}
	for _, dim := range training.Dims {
		without := r.it.Without(dim)
		if without == nil {
			continue
		}
		h := &routedAnswer{r: r, seen: a.seen, walks: a.walks, work: without, row: result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}}
		if err := h.simulate(ctx, nil); err != nil {
			return fmt.Errorf("without calls of %s: %w", dim, err)
		}
		if _, done := h.row.Metrics[r.end()]; done {
			a.row.Metrics[dim.String()+"_exposed_s"] = (a.at - h.at).Seconds()
		}
	}
	return nil
}
