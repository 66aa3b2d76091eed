package assembly

import "sim/scenarios/result"

// atOneLoad adds to the simulations of answers, by index, their delays at the load of the one whose links carry least,
// where the loads differ and all of several can tell: a decision that carries more would else be shown where more waits.
func atOneLoad(answers map[int]*Answer, policies []result.Simulation) error {
	most, least := 0.0, 0.0
	for i := range policies {
		a, ok := answers[i]
		if policies[i].Delay == nil {
			continue
		}
		if !ok {
			return nil
		}
		if most == 0 || a.Load < least {
			least = a.Load
		}
		most = max(most, a.Load)
	}
	if !(most > least) {
		return nil
	}
	for i := range policies {
		p := &policies[i]
		if p.Delay == nil {
			continue
		}
		load := answers[i].Load
		p.LoadShare, p.DelayShared = load/most, p.Delay
		if load < most {
			var err error
			if p.DelayShared, err = answers[i].DelayAt(most); err != nil {
				return err
			}
		}
	}
	return nil
}
