package topology

import "sim/engine/flow"

// SchedulesRates reports whether allocator p, by these options, may decide on rates too, which its decision then comes
// with: others leave them to fair sharing.
func SchedulesRates(p Policy, o *Options) bool {
	if o.Service != nil {
		return *o.Service != flow.MaxMin
	}
	switch p := p.(type) {
	case joint:
		return true
	case milpPolicy:
		return !p.fair
	}
	return false
}

// SchedulesRates is the function of that name of an arbiter.
func (o *JobsOptions) SchedulesRates(a Arbiter) bool {
	if _, ok := a.(jointly); ok && o.Service == nil {
		return true
	}
	return SchedulesRates(o.Single, &o.Options)
}
