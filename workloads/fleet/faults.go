package fleet

import (
	"fmt"
	"math/rand/v2"
)

// Part is a kind of hardware that fails.
type Part int8

// Parts of a pod that fail by themselves (Table 1 of the paper has their rates).
const (
	Machine Part = iota // a tray of four chips with its host
	Cable               // an optical link between a cube and a switch
	Switch              // an optical circuit switch
	Cube                // planned maintenance of a whole cube
	Parts
)

// String returns the name of a part.
func (p Part) String() string { return [...]string{"machine", "cable", "ocs", "cube"}[p] }

// Process is how parts of a kind fail and how long their repair takes, by themselves and independent of each other.
type Process struct {
	PerDay  float64 // failures of a part in a day
	Weibull float64 // shape of the time to failure; 1 is exponential
	Repair  Spread
	// Quick is the share of repairs that take Short instead, such as of cables that are repaired from afar (Sec. 3.6.3).
	Quick float64
	Short Spread
}

// Check fails on a process that cannot be drawn from.
func (p *Process) Check() error {
	switch {
	case !(p.PerDay >= 0 && p.PerDay <= 1e4):
		return fmt.Errorf("fleet: %g failures a day; want 0 to 1e4", p.PerDay)
	case !(p.Weibull >= 0.2 && p.Weibull <= 20):
		return fmt.Errorf("fleet: a Weibull shape of %g; want 0.2 to 20; 1 is exponential", p.Weibull)
	case !(p.Quick >= 0 && p.Quick <= 1):
		return fmt.Errorf("fleet: a share of %g of repairs is quick; want 0 to 1", p.Quick)
	}
	return nil
}

// MeanRepair returns the mean time to repair.
func (p *Process) MeanRepair() Time {
	return FromSeconds(p.Quick*p.Short.Mean.Seconds() + (1-p.Quick)*p.Repair.Mean.Seconds())
}

// Unavailability returns the share of time in which a part is down: of rate r a day of up time and repairs of m days,
// r m / (1 + r m).
func (p *Process) Unavailability() float64 {
	x := p.PerDay * p.MeanRepair().Days()
	return x / (1 + x)
}

// Failures draws the failures of one part and their repairs. Each part has a stream of its own, by its kind, pod and
// number in the pod.
type Failures struct {
	*Process
	rand *rand.Rand
}

// NewFailures returns the failures of a part.
func NewFailures(p *Process, seed uint64, kind Part, pod, number int) Failures {
	return Failures{p, Stream(seed, streamComponents, uint64(kind)<<40|uint64(pod)<<16|uint64(number))}
}

// Next draws the time from now, when the part is up, to its next failure, and how long its repair will take.
func (f Failures) Next() (after, repair Time) {
	after = gap(f.rand, f.PerDay, f.Weibull)
	quick := f.rand.Float64() < f.Quick
	repair, short := f.Repair.Draw(f.rand), Time(0)
	if f.Quick > 0 {
		short = f.Short.Draw(f.rand)
	}
	if quick {
		repair = short
	}
	return after, repair
}

// Rates are failures a day of the parts of a fleet, each with its repairs.
type Rates [Parts]Process

// Presets returns the known rates by name: tpuv4 is the paper's, with times to repair that it does not give (cube
// maintenance apart, which MaintenanceFor sets); infinitehbd are the servers of a published log of 400 (Shou et al.,
// "InfiniteHBD: Building Datacenter-Scale High-Bandwidth Domain for LLM with Optical Circuit Switching Transceivers",
// SIGCOMM 25); meta-rsc1 and meta-rsc2 those of Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning
// Research Clusters" (2024), llama3 that of the 54 days of training which the Llama 3 report tells of.
func Presets() map[string]Rates {
	lognormal := func(mean, median Time) Spread {
		s, err := WithMedian(mean, median)
		if err != nil {
			panic(err)
		}
		return s
	}
	base := Rates{
		Machine: {PerDay: 8e-4, Weibull: 1, Repair: lognormal(2*Day, 7*Day/10)},
		Cable:   {PerDay: 5e-5, Weibull: 1, Repair: lognormal(Day, Day/2), Quick: 0.7, Short: Spread{Form: Constant, Mean: Hour}},
		Switch:  {PerDay: 4e-4, Weibull: 1, Repair: lognormal(25*Hour+6*Minute, 18*Hour)},
		Cube:    {Weibull: 1, Repair: Spread{Form: Constant, Mean: 4 * Hour}},
	}
	machines := func(perDay float64, repair Spread) Rates {
		r := base
		r[Machine].PerDay, r[Machine].Repair = perDay, repair
		return r
	}
	return map[string]Rates{
		"tpuv4":       base,
		"infinitehbd": machines(4.18e-3, lognormal(11*Day/2, 85*Day/100)),
		"meta-rsc1":   machines(6.50e-3, base[Machine].Repair),
		"meta-rsc2":   machines(2.34e-3, base[Machine].Repair),
		"llama3":      machines(419.0/54/2048, base[Machine].Repair),
	}
}

// MaintenanceFor sets the planned maintenance of cubes so that a machine is available so much of the time, with the
// failures that there are. It fails where these alone take more.
func (r *Rates) MaintenanceFor(availability float64) error {
	up := 1 - r[Machine].Unavailability()
	if !(availability > 0 && availability <= 1) {
		return fmt.Errorf("fleet: a host availability of %g; want more than 0, at most 1", availability)
	}
	if availability > up*(1+1e-12) {
		return fmt.Errorf("fleet: a host availability of %g, while failures of machines alone leave %.6g; want at most that, or fewer or shorter failures", availability, up)
	}
	down := 1 - availability/up // independent of the failures
	r[Cube].PerDay = down / (1 - down) / r[Cube].MeanRepair().Days()
	return nil
}

// Chance returns a number in [0, 1) that depends on the seed and two numbers alone, not on what was drawn before.
func Chance(seed, of, number uint64) float64 {
	return float64(mix(mix(seed^mix(of))^number)>>11) / (1 << 53)
}
