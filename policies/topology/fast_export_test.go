package topology

import (
	"context"
	"sim/engine"
	"sim/engine/flow"
)

// Upper returns the best baseline's makespan, an upper bound on the iteration time.
func (p *Problem) Upper() engine.Time {
	_, c := p.incumbent(context.Background(), flow.MaxMin)
	return c
}

// Concurrency is Alg. 2 as printed, MostUseful intersected with the NIC cap.
func (p *Problem) Concurrency(upper engine.Time) []int {
	return p.concurrency(context.Background(), upper, nil)
}
func (p *Problem) MostUseful(upper engine.Time) []int {
	return p.mostUseful(context.Background(), upper)
}
