package topology

import (
	"context"
	"time"
)

type FastOptions struct {
	Population, Elites, Tournament   int
	Crossover, Mutation              float64
	StallGenerations, MaxGenerations int
	TimeLimit                        time.Duration
}
type fast struct{}

func (fast) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return topo{}.Choose(ctx, p, o)
}
