package fleet

import (
	"fmt"
	"math/rand/v2"
)

// Part is a kind of hardware that fails.
type Part int8

// Parts of a pod that fail by themselves (Table 1 of the paper has their rates).
const (
	Machine    Part = iota // a tray of four chips with its host
	Cable                  // an optical link between a cube and a switch
	Switch                 // an optical circuit switch
	Cube                   // planned maintenance of a whole cube
	SwitchWork             // planned maintenance of an optical circuit switch
	NumParts
)

// Process is how parts of a kind fail and how long their repair takes, by themselves and independent of each other.
type Process struct {
	PerDay  float64 // failures of a part in a day
	Weibull float64 // shape of the time to failure; 1 is exponential
	Repair  Spread
	// QuickShare is the share of repairs that take Short instead, such as of cables that are repaired from afar (Sec. 3.6.3).
	QuickShare  float64
	QuickRepair Spread
	// Log tells when parts fail and for how long, in place of draws; nil is none.
	Log *FaultLog
}

// Check fails on a process that cannot be drawn from.
func (p *Process) Check() error {
	switch {
	case !(p.PerDay >= 0 && p.PerDay <= 1e4):
		return fmt.Errorf("fleet: %g failures a day; want 0 to 1e4", p.PerDay)
	case !(p.Weibull >= 0.2 && p.Weibull <= 20):
		return fmt.Errorf("fleet: a Weibull shape of %g; want 0.2 to 20; 1 is exponential", p.Weibull)
	case !(p.QuickShare >= 0 && p.QuickShare <= 1):
		return fmt.Errorf("fleet: a share of %g of repairs is quick; want 0 to 1", p.QuickShare)
	}
	return nil
}

// MeanRepair returns the mean time to repair.
func (p *Process) MeanRepair() Time {
	return FromSeconds(p.QuickShare*p.QuickRepair.Mean.Seconds() + (1-p.QuickShare)*p.Repair.Mean.Seconds())
}

// Unavailability returns the share of time in which a part is down: of rate r a day of up time and repairs of m days,
// r m / (1 + r m).
func (p *Process) Unavailability() float64 {
	x := p.PerDay * p.MeanRepair().Days()
	return x / (1 + x)
}

// Failures draws the failures of one part and their repairs, or has them from a log. Each part has a stream of its own,
// by its kind, pod and number in the pod.
type Failures struct {
	*Process
	rand *rand.Rand
	log  *history
}

// NewFailures returns the failures of a part of a fleet of so many pods. With a log it is a machine.
func NewFailures(p *Process, seed uint64, kind Part, pods, pod, number int) Failures {
	if p.Log != nil {
		const machines = PodCubes * CubeHosts
		return Failures{Process: p, log: p.Log.history(pod*machines+number, pods*machines)}
	}
	return Failures{Process: p, rand: RandomStream(seed, streamComponents,
		uint64(kind)<<40|uint64(pod)<<16|uint64(number))}
}

// Next returns the time from now, when the part is up, to its next failure, how long its repair will take, and whether
// the repair takes no crew: a quick one, or one of a log, whose time includes all waiting. The time to the failure is 0
// if, by a log, the part is down already.
func (f Failures) Next(now Time) (after, repair Time, remote bool) {
	if f.log != nil {
		after, repair = f.log.nextOutage(now)
		return after, repair, true
	}
	after = drawGap(f.rand, f.PerDay, f.Weibull)
	remote = f.rand.Float64() < f.QuickShare
	repair, short := f.Repair.Draw(f.rand), Time(0)
	if f.QuickShare > 0 {
		short = f.QuickRepair.Draw(f.rand)
	}
	if remote {
		repair = short
	}
	return after, repair, remote
}

// Rates are failures a day of the parts of a fleet, each with its repairs.
type Rates [NumParts]Process

// MachineReliability is how often machines fail, how long their repair takes, and how long jobs on them stop to write a checkpoint.
type MachineReliability struct {
	PerDay       float64 // failures of a machine per day
	Mean, Median Time    // of the times to repair
	Checkpoint   Time
}

// Presets returns known failures of machines by name: tpuv4 is the paper's rate, with times to repair that it does not
// give; infinitehbd are the servers of a published log of 400 (Shou et al., "InfiniteHBD: Building Datacenter-Scale
// High-Bandwidth Domain for LLM with Optical Circuit Switching Transceivers", SIGCOMM 25); meta-rsc1 and meta-rsc2 are
// the rates of Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (2024), and
// llama3 the 419 unexpected interruptions in 54 days of training on 2,048 servers of "The Llama 3 Herd of Models" (2024),
// Sec. 3.3.4.
//
// Jobs on servers of GPUs write checkpoints in the background and stop only to copy their state to the hosts' memory:
// for "several seconds" (Jiang et al., "MegaScale: Scaling Large Language Model Training to More Than 10,000 GPUs",
// NSDI 24, Sec. 4.4), for 6.3 s in place of 148.8 s (Pasqualin et al., "Reducing Model Checkpointing Times by Over 10x
// with PyTorch Distributed Asynchronous Checkpointing", pytorch.org, 2024). With that, the interruptions of llama3 leave
// an efficiency of 92 %, where its report has "higher than 90%"; with stops of two minutes they would leave 81 %.
func Presets() map[string]MachineReliability {
	gpus := func(perDay float64, mean, median Time) MachineReliability {
		return MachineReliability{perDay, mean, median, 6300 * Millisecond}
	}
	const mean, median = 48 * Hour, 168 * Hour / 10
	return map[string]MachineReliability{
		"tpuv4": {8e-4, mean, median, 2 * Minute}, "infinitehbd": gpus(4.18e-3, 132*Hour, 204*Hour/10),
		"meta-rsc1": gpus(6.50e-3, mean, median), "meta-rsc2": gpus(2.34e-3, mean, median),
		"llama3": gpus(3.789e-3, mean, median),
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

// HashUniform returns a number in [0, 1) that depends on the seed and two numbers alone, not on what was drawn before.
func HashUniform(seed, kind, number uint64) float64 {
	return float64(mix(mix(seed^mix(kind))^number)>>11) / (1 << 53)
}
