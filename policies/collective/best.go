package collective

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
)

// Best returns the schedule of a call that ends first of those of some algorithms, the first in the list of equals, and
// the algorithm. Simulate returns when a schedule ends. It fails where no algorithm serves the call, with the reasons,
// and where another error occurs.
func Best(ctx context.Context, rows []Row, p *Problem, o Options, simulate func(*Schedule) (engine.Time, error)) (*Schedule, Row, error) {
	var best *Schedule
	var row Row
	var refused []error
	least := engine.Never
	for _, r := range rows {
		s, err := r.Expand(ctx, p, o)
		if errors.Is(err, ErrUnserved) {
			refused = append(refused, err)
			continue
		}
		if err != nil {
			return nil, Row{}, err
		}
		end, err := simulate(s)
		if err != nil {
			return nil, Row{}, fmt.Errorf("%s: %w", r.Name, err)
		}
		if best == nil || end < least {
			best, row, least = s, r, end
		}
	}
	if best == nil {
		return nil, Row{}, errors.Join(refused...)
	}
	return best, row, nil
}
