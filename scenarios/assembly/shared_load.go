package assembly

import "sim/scenarios/result"

// compareAtSharedLoad adds to the simulations of answers, by index, their delays at the load of the one whose links carry least,
// where the loads differ and all of several can tell: a decision that carries more would else be shown where more waits.
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
