// This file compares packet delays under different decisions at one load, for sources
// that adapt their rate to the decision.

package assembly

import "sim/scenarios/result"

// compareAtSharedLoad adds to each simulation its delays at one load, if the loads of
// policies differ and all sources can adapt. Results are indexed by simulation.
//
// Sources that fill the bottleneck link inject more under decisions with a lower maximum
// load. Their packets may then wait longer although the decision is better. The shared
// load is the one that fills the bottleneck of the decision with the largest maximum
// load.
func compareAtSharedLoad(results map[int]*PolicyResult, policies []result.Simulation) error {
	maxLoad, minLoad := 0.0, 0.0
	for i := range policies {
		a, ok := results[i]
		if policies[i].Delay == nil {
			continue
		}
		if !ok {
			return nil
		}
		if maxLoad == 0 || a.MaxLoad < minLoad {
			minLoad = a.MaxLoad
		}
		maxLoad = max(maxLoad, a.MaxLoad)
	}
	if !(maxLoad > minLoad) {
		return nil
	}

	for i := range policies {
		p := &policies[i]
		if p.Delay == nil {
			continue
		}
		load := results[i].MaxLoad
		p.LoadShare, p.DelayShared = load/maxLoad, p.Delay
		if load < maxLoad {
			var err error
			if p.DelayShared, err = results[i].DelayAt(maxLoad); err != nil {
				return err
			}
		}
	}
	return nil
}
