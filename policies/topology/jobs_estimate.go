package topology

import (
	"context"
	"errors"
	"math"

	"sim/engine"
)

// EstimateValue returns the objective if each job has its even share of the ports and circuits by
// simple rules. It is a cheap estimate for comparing placements of jobs. It is +Inf if a
// share does not connect a job.
func (s *SharedPods) EstimateValue(ctx context.Context) (float64, error) {
	ends := make([]engine.Time, len(s.Jobs))
	for j, share := range s.EvenShares() {
		job := &s.Jobs[j]
		p, err := job.Problem.withPorts(job.localPorts(share))
		if err != nil {
			return math.Inf(1), ignorePortError(err)
		}
		ends[j] = p.EstimateMakespan(ctx)
	}
	return s.Value(ends), ctx.Err()
}

// QuickBound returns a lower bound on the objective if job j has at most ports[j] ports in the
// pods of its problem, and a makespan of at least minMakespans[j]. It is +Inf if these
// ports do not connect a job.
func (s *SharedPods) QuickBound(ctx context.Context, ports [][]int, minMakespans []engine.Time) (float64, error) {
	ends := make([]engine.Time, len(s.Jobs))
	for j := range s.Jobs {
		p, err := s.Jobs[j].Problem.withPorts(ports[j])
		if err != nil {
			return math.Inf(1), ignorePortError(err)
		}
		ends[j] = max(p.QuickBound(ctx), minMakespans[j])
	}
	return s.Value(ends), ctx.Err()
}

// BoundAlone returns a lower bound on the makespan of a job that has the given number of ports
// in each pod to itself.
func (s *SharedPods) BoundAlone(ctx context.Context, job, ports int) (engine.Time, error) {
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

// ignorePortError returns nil if err wraps ErrPorts, and err otherwise.
func ignorePortError(err error) error {
	if errors.Is(err, ErrPorts) {
		return nil
	}
	return err
}
