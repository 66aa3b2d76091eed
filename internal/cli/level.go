// This file finds the level of simulation at which a scenario costs less.

package cli

import (
	"context"
	"fmt"
	"slices"

	"sim/scenarios"
)

// cheaperLevel is a level of simulation with its estimated cost for each policy.
type cheaperLevel struct {
	name string
	cost scenarios.Cost
}

// String describes the cost and states how to choose the level.
func (l *cheaperLevel) String() string {
	about := fmt.Sprintf("about %v", l.cost)
	if l.cost == (scenarios.Cost{}) {
		about = "loads without times, and no simulation,"
	}
	return fmt.Sprintf("%s at level %s: --set engine.level=%s", about, l.name, l.name)
}

// findCheaperLevel returns the first level that takes less than half the time of the scenario,
// which costs cost, and that accepts the overrides. Keys of the file that the level does not use
// are left out. It returns nil if there are no such levels or no estimate, or if the scenario
// takes less than a second.
func findCheaperLevel(
	ctx context.Context, file string, overrides []string, s *scenarios.Scenario, cost scenarios.Cost,
) *cheaperLevel {
	const minSeconds = 1
	if cost.Seconds < minSeconds {
		return nil
	}
	for _, level := range s.Levels() {
		other, err := scenarios.Load(file, append(slices.Clone(overrides), "engine.level="+level))
		if err != nil {
			continue
		}
		less, err := other.Cost(ctx)
		isEstimated := less != (scenarios.Cost{}) || level == "static"
		if err == nil && isEstimated && less.Seconds < cost.Seconds/2 {
			return &cheaperLevel{level, less}
		}
	}
	return nil
}

// atLevel names the level of a scenario, such as " at level flow"; "" if it has none, as a fleet.
func atLevel(s *scenarios.Scenario) string {
	if s.Engine.Level == "" {
		return ""
	}
	return " at level " + s.Engine.Level
}
