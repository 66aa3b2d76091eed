package topology

import (
	"context"
	"errors"
	"math"

	"sim/engine"
)

// Guess returns the objective where each job has its even share of ports and circuits by simple rules: what placements
// of jobs may be compared by before circuits are chosen.
func (s *Shared) Guess(ctx context.Context) (float64, error) {
	ends := make([]engine.Time, len(s.Jobs))
	for j, share := range s.EvenShares() {
		job := &s.Jobs[j]
		p, err := job.Problem.withPorts(job.localPorts(share))
		if err != nil {
			return math.Inf(1), ignorePortError(err)
		}
		ends[j] = p.Guess(ctx)
	}
	return s.Value(ends), ctx.Err()
}

// Least returns a lower bound on the objective of jobs that have at most so many ports each in the pods of their
// problems, and take at least so long. It is +Inf where these cannot connect one of them.
func (s *Shared) Least(ctx context.Context, ports [][]int, minMakespans []engine.Time) (float64, error) {
	ends := make([]engine.Time, len(s.Jobs))
	for j := range s.Jobs {
		p, err := s.Jobs[j].Problem.withPorts(ports[j])
		if err != nil {
			return math.Inf(1), ignorePortError(err)
		}
		ends[j] = max(p.Least(ctx), minMakespans[j])
	}
	return s.Value(ends), ctx.Err()
}

// Alone returns a lower bound on the makespan of a job that has so many ports in each pod to itself.
func (s *Shared) Alone(ctx context.Context, job, ports int) (engine.Time, error) {
	one := &s.Jobs[job]
	all := make([]int, len(one.Pods))
	for i := range all {
		all[i] = ports
	}
	p, err := one.Problem.withPorts(all)
	if err != nil {
		return 0, err
	}
	return p.Bound(ctx)
}

// ignorePortError is nil of an error that says that there are too few ports.
func ignorePortError(err error) error {
	if errors.Is(err, ErrPorts) {
		return nil
	}
	return err
}
