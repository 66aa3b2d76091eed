package assembly

import "sim/scenarios/result"

// Loaded is an answer whose sources keep to what the most loaded link carries. Delays of several are compared at one
// load, the least of theirs, since a decision that carries more would else be shown where more waits.
type Loaded interface {
	// Load is what the most loaded link carries; ok is false where it is not simulated again.
	Load() (messages float64, ok bool)
	// DelayAt simulates the traffic as if the most loaded link carried so much, nil where no packet arrives.
	DelayAt(messages float64) (*result.Delay, error)
}

// atOneLoad adds to the simulations of answers, by index, their delays at the load of the one whose links carry least,
// where the loads differ and all of several can tell.
func atOneLoad(answers map[int]Loaded, policies []result.Simulation) error {
	most, least := 0.0, 0.0
	for i := range policies {
		a, ok := answers[i]
		if policies[i].Delay == nil {
			continue
		}
		if !ok {
			return nil
		}
		load, _ := a.Load()
		if most == 0 || load < least {
			least = load
		}
		most = max(most, load)
	}
	if !(most > least) {
		return nil
	}
	for i := range policies {
		p := &policies[i]
		if p.Delay == nil {
			continue
		}
		load, _ := answers[i].Load()
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
