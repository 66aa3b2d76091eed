// This file draws the failures and repairs of the parts of a fleet.
//
// Each part alternates between up and down (an alternating renewal process). Process
// describes one kind of part, and Rates holds one process for each kind. Failures draws the
// successive failures of a single part.
//
// Sections and tables refer to Zu et al., "Resiliency at Scale: Managing Google's TPUv4
// Machine Learning Supercomputer", NSDI 24, "the TPU v4 paper".

package fleet

import (
	"fmt"
	"math/rand/v2"
)

// Part is a kind of part that fails or is maintained.
type Part int8

// The parts of a pod, which go down independently of each other. Table 1 of the TPU v4
// paper has the failure rates of Machine, Cable and Switch. Planned maintenance is modelled
// as a further part: its "failure" is the start of a maintenance.
const (
	Machine    Part = iota // a tray of four chips with its host
	Cable                  // an optical link between a cube and a switch
	Switch                 // an optical circuit switch
	Cube                   // planned maintenance of a whole cube
	SwitchWork             // planned maintenance of an optical circuit switch
	NumParts               // number of kinds of parts
)

// Process is the failure and repair process of one kind of part. Parts fail
// independently.
type Process struct {
	PerDay  float64 // failures per part and day of uptime
	Weibull float64 // shape of the Weibull distribution of times to failure; see exponentialShape
	Repair  Spread  // distribution of the time to repair
	// RemoteShare is the fraction of repairs that are made remotely, without a repair crew,
	// such as many repairs of optical links (TPU v4 paper, Sec. 3.6.3). The duration of a
	// remote repair follows RemoteRepair instead of Repair.
	RemoteShare  float64
	RemoteRepair Spread
	// Log, if not nil, replaces random failures and repairs by logged outages. Only the
	// process of machines can have a log.
	Log *FaultLog
}

// Check fails on invalid values, and on rates and shapes far outside the range of real
// parts. Beyond a shape of 20, all parts of one age fail together; below 0.2, most
// failures follow the previous one at once.
func (p *Process) Check() error {
	switch {
	case !(p.PerDay >= 0 && p.PerDay <= 1e4):
		return fmt.Errorf("fleet: %g failures a day; want 0 to 1e4", p.PerDay)
	case !(p.Weibull >= 0.2 && p.Weibull <= 20):
		return fmt.Errorf("fleet: a Weibull shape of %g; want 0.2 to 20; 1 is exponential", p.Weibull)
	case !(p.RemoteShare >= 0 && p.RemoteShare <= 1):
		return fmt.Errorf("fleet: a share of %g of repairs is remote; want 0 to 1", p.RemoteShare)
	}
	return nil
}

// MeanRepair returns the mean time to repair, over remote and other repairs.
func (p *Process) MeanRepair() Time {
	return FromSeconds(p.RemoteShare*p.RemoteRepair.Mean.Seconds() + (1-p.RemoteShare)*p.Repair.Mean.Seconds())
}

// Unavailability returns the fraction of time for which a part is down. With r failures
// per day of uptime and a mean time to repair of m days, it is r m / (1 + r m).
func (p *Process) Unavailability() float64 {
	downtime := p.PerDay * p.MeanRepair().Days() // per unit of uptime
	return downtime / (1 + downtime)
}

// Failures draws the failures and repairs of one part, or takes them from a log. Each
// part has its own random stream, identified by its kind, its pod and its number in the
// pod.
type Failures struct {
	*Process
	rand *rand.Rand // random stream of the part; nil if log is set
	log  *history   // outages of one server of the log; nil if the process has no log
}

// PartID identifies a part of a fleet.
type PartID struct {
	Kind        Part
	Pod, Number int // index of the pod, and of the part among the parts of its kind in the pod
}

// NewFailures returns the failures of one part of a fleet with the given number of pods of the
// given machines. If p has a log, the part must be a Machine: the log has one list of outages
// per machine.
func NewFailures(p *Process, seed uint64, id PartID, pods, machines int) Failures {
	kind, pod, number := id.Kind, id.Pod, id.Number
	if p.Log != nil {
		return Failures{Process: p, log: p.Log.history(pod*machines+number, pods*machines)}
	}

	// The number of the stream is unique: a pod has fewer than 2^16 parts of a kind.
	stream := uint64(kind)<<40 | uint64(pod)<<16 | uint64(number)
	return Failures{Process: p, rand: RandomStream(seed, streamComponents, stream)}
}

// Next returns the time from now to the next failure of the part, and the duration of its
// repair. It is called when the part is up. If a logged outage lasts at that time, after
// is 0 and repair is the rest of the outage.
//
// isRemote reports whether the repair needs no repair crew. Logged repairs count as remote,
// because their duration includes all waiting for a crew.
func (f Failures) Next(now Time) (after, repair Time, isRemote bool) {
	if f.log != nil {
		after, repair = f.log.nextOutage(now)
		return after, repair, true
	}

	// Draw both durations, even though only one of them is used. Later failures of the part
	// then do not depend on which of its earlier repairs were remote.
	after = drawGap(f.rand, f.PerDay, f.Weibull)
	isRemote = f.rand.Float64() < f.RemoteShare
	repair = f.Repair.Draw(f.rand)
	if f.RemoteShare > 0 {
		remoteRepair := f.RemoteRepair.Draw(f.rand)
		if isRemote {
			repair = remoteRepair
		}
	}
	return after, repair, isRemote
}

// Rates are the failure processes of a fleet, indexed by Part.
type Rates [NumParts]Process

// MachineReliability describes the failures of machines and the cost of checkpoints.
type MachineReliability struct {
	PerDay       float64 // failures per machine and day of uptime
	Mean, Median Time    // mean and median time to repair
	Checkpoint   Time    // time for which a job stops to write a checkpoint
}

// Presets returns known failure rates of machines by name:
//
//   - tpuv4: the rate of machines in Table 1 of the TPU v4 paper; the times to repair are
//     assumptions.
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
	gpuServers := func(perDay float64, mean, median Time) MachineReliability {
		const copyState = 6300 * Millisecond // stop of a job whose state is written in the background
		return MachineReliability{PerDay: perDay, Mean: mean, Median: median, Checkpoint: copyState}
	}

	// Assumed times to repair of the fleets that publish none.
	const (
		mean   = 48 * Hour
		median = 16*Hour + 48*Minute
	)
	return map[string]MachineReliability{
		"tpuv4":       {PerDay: 8e-4, Mean: mean, Median: median, Checkpoint: 2 * Minute},
		"infinitehbd": gpuServers(4.18e-3, 132*Hour, 20*Hour+24*Minute),
		"meta-rsc1":   gpuServers(6.50e-3, mean, median),
		"meta-rsc2":   gpuServers(2.34e-3, mean, median),
		"llama3":      gpuServers(3.789e-3, mean, median),
	}
}

// SetMaintenance sets the rate of planned maintenance of cubes such that a machine is
// available for the given fraction of time. A machine is unavailable if it has failed or if
// its cube is in maintenance. SetMaintenance fails if failures alone reduce the
// availability below the given one.
func (r *Rates) SetMaintenance(availability float64) error {
	up := 1 - r[Machine].Unavailability()
	if !(availability > 0 && availability <= 1) {
		return fmt.Errorf("fleet: a host availability of %g; want more than 0, at most 1", availability)
	}
	const rounding = 1e-12 // relative error of up
	if availability > up*(1+rounding) {
		return fmt.Errorf("fleet: a host availability of %g, while failures of machines alone leave %.6g; want at most that, or fewer or shorter failures",
			availability, up)
	}

	// Maintenance and failures are independent, so availability = up * (1 - down), where down
	// is the fraction of time in maintenance. The rate is the inverse of Unavailability.
	down := 1 - availability/up
	r[Cube].PerDay = down / (1 - down) / r[Cube].MeanRepair().Days()
	return nil
}
