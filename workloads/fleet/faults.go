package fleet

import (
	"fmt"
	"math/rand/v2"
)

// Part is a kind of hardware that fails.
type Part int8

// The parts of a pod that fail independently. Table 1 of the paper has their rates.
const (
	Machine    Part = iota // a tray of four chips with its host
	Cable                  // an optical link between a cube and a switch
	Switch                 // an optical circuit switch
	Cube                   // planned maintenance of a whole cube
	SwitchWork             // planned maintenance of an optical circuit switch
	NumParts               // number of kinds
)

// Process is the failure and repair process of one kind of part. Parts fail
// independently.
type Process struct {
	PerDay  float64 // failures per part and day of uptime
	Weibull float64 // shape of the time to failure; 1 is exponential
	Repair  Spread  // distribution of the time to repair
	// RemoteShare is the fraction of repairs whose duration is QuickRepair instead of
	// Repair, such as cables that are repaired remotely (Sec. 3.6.3).
	RemoteShare  float64
	RemoteRepair Spread
	Log          *FaultLog // Log, if not nil, replaces random failures and repairs by logged ones.
}

// Check fails on invalid values.
func (p *Process) Check() error {
	switch {
	case !(p.PerDay >= 0 && p.PerDay <= 1e4):
		return fmt.Errorf("fleet: %g failures a day; want 0 to 1e4", p.PerDay)
	case !(p.Weibull >= 0.2 && p.Weibull <= 20):
		return fmt.Errorf("fleet: a Weibull shape of %g; want 0.2 to 20; 1 is exponential", p.Weibull)
	case !(p.RemoteShare >= 0 && p.RemoteShare <= 1):
		return fmt.Errorf("fleet: a share of %g of repairs is quick; want 0 to 1", p.RemoteShare)
	}
	return nil
}

// MeanRepair returns the mean time to repair.
func (p *Process) MeanRepair() Time {
	return FromSeconds(p.RemoteShare*p.RemoteRepair.Mean.Seconds() + (1-p.RemoteShare)*p.Repair.Mean.Seconds())
}

// Unavailability returns the fraction of time for which a part is down: r m / (1 + r m)
// with r failures per day of uptime and a mean repair of m days.
func (p *Process) Unavailability() float64 {
	x := p.PerDay * p.MeanRepair().Days()
	return x / (1 + x)
}

// Failures draws the failures and repairs of one part, or takes them from a log. Each
// part has its own random stream, identified by its kind, its pod and its number in the
// pod.
type Failures struct {
	*Process
	rand *rand.Rand
	log  *history
}

// NewFailures returns the failures of a part of a fleet with the given number of pods. A
// process with a log applies to machines only.
func NewFailures(p *Process, seed uint64, kind Part, pods, pod, number int) Failures {
	if p.Log != nil {
		const machines = PodCubes * CubeHosts
		return Failures{Process: p, log: p.Log.history(pod*machines+number, pods*machines)}
	}
	return Failures{Process: p,
		rand: RandomStream(seed, streamComponents, uint64(kind)<<40|uint64(pod)<<16|uint64(number))}
}

// Next returns the time from now, when the part is up, to its next failure, the duration
// of the repair, and whether the repair needs no repair crew. Quick repairs need none.
// Neither do logged ones, whose duration includes all waiting. If the log has the part
// down now, the time to the failure is 0.
func (f Failures) Next(now Time) (after, repair Time, remote bool) {
	if f.log != nil {
		after, repair = f.log.nextOutage(now)
		return after, repair, true
	}
	after = drawGap(f.rand, f.PerDay, f.Weibull)
	remote = f.rand.Float64() < f.RemoteShare
	repair, short := f.Repair.Draw(f.rand), Time(0)
	if f.RemoteShare > 0 {
		short = f.RemoteRepair.Draw(f.rand)
	}
	if remote {
		repair = short
	}
	return after, repair, remote
}

// Rates are the failure processes of a fleet, indexed by Part.
type Rates [NumParts]Process

// MachineReliability describes the failures of machines and the cost of checkpoints.
type MachineReliability struct {
	PerDay       float64 // failures per machine and day
	Mean, Median Time    // mean and median time to repair
	Checkpoint   Time    // time for which a job stops to write a checkpoint
}

// Presets returns known failure rates of machines by name:
//
//   - tpuv4: the paper's rate; the times to repair are assumptions.
//   - infinitehbd: a published log of 400 servers (Shou et al., "InfiniteHBD: Building
//     Datacenter-Scale High-Bandwidth Domain for LLM with Optical Circuit Switching Transceivers",
//     SIGCOMM 25).
//   - meta-rsc1, meta-rsc2: Kokolis et al., "Revisiting Reliability in Large-Scale Machine
//     Learning Research Clusters" (2024).
//   - llama3: 419 unexpected interruptions in 54 days of training on 2,048 servers ("The Llama 3
//     Herd of Models", 2024, Sec. 3.3.4).
//
// Jobs on GPU servers write checkpoints in the background. They stop only to copy their
// state to host memory: for "several seconds" (Jiang et al., "MegaScale: Scaling Large
// Language Model Training to More Than 10,000 GPUs", NSDI 24, Sec. 4.4), or for 6.3 s
// instead of 148.8 s (Pasqualin et al., "Reducing Model Checkpointing Times by Over 10x
// with PyTorch Distributed Asynchronous Checkpointing", pytorch.org, 2024). With 6.3 s,
// the interruptions of llama3 leave an efficiency of 92 %; its report states "higher than
// 90%". Stops of two minutes would leave 81 %.
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

// SetMaintenance sets the planned maintenance of cubes such that a machine is available
// for the given fraction of time, including failures. It fails if failures alone reduce
// the availability below it.
func (r *Rates) SetMaintenance(availability float64) error {
	up := 1 - r[Machine].Unavailability()
	if !(availability > 0 && availability <= 1) {
		return fmt.Errorf("fleet: a host availability of %g; want more than 0, at most 1", availability)
	}
	if availability > up*(1+1e-12) {
		return fmt.Errorf("fleet: a host availability of %g, while failures of machines alone leave %.6g; want at most that, or fewer or shorter failures",
			availability, up)
	}
	down := 1 - availability/up // maintenance and failures are independent
	r[Cube].PerDay = down / (1 - down) / r[Cube].MeanRepair().Days()
	return nil
}

// HashUniform returns a number in [0, 1) that depends only on the seed, kind and number,
// not on earlier draws.
func HashUniform(seed, kind, number uint64) float64 {
	return float64(mix(mix(seed^mix(kind))^number)>>11) / (1 << 53)
}
