// This file declares the keys of scenario files that describe a fleet: its workload (jobs
// over months), its fabric (pods of cubes) and its policies.
//
// Terms of the TPU v4 fleet (Zu et al., "Resiliency at Scale: Managing Google's TPUv4
// Machine Learning Supercomputer", NSDI 24), which the help texts use:
//
//   - A machine is a host with four chips. A cube has 16 machines, 4x4x4 chips.
//   - A pod of TPU v4 has 64 cubes. 48 optical circuit switches (OCS) join the faces of cubes.
//   - A slice is the torus of cubes that one job uses, or a part of a cube.
//
// The tags of fields are defined in package schema (schema/doc.go). For example, the tag
// "else" describes a default that a method Defaults computes, "implicit" omits a key with
// its default from resolved scenarios, and "empty" accepts an empty list. Names such as
// "@joblogs" (a list of accepted texts) and "steps-named" (a condition of use) are defined
// in scenarios/tag_names.go.

package fleets

import (
	"cmp"
	"math"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/torus"
	"sim/workloads/fleet"
)

// Fleet holds the keys of a workload of kind "fleet": the arrivals, slices, durations and
// priorities of jobs over months.
type Fleet struct {
	Days           int     `key:"days" doc:"simulated days" default:"60" min:"1" max:"36500"`
	Seeds          int     `key:"seeds" doc:"number of simulations, with the seeds from 'seed' on; metrics are their means, and metrics with the prefix se_ the standard errors of these means. Files and figures are of the first seed" default:"1" min:"1" max:"1000" implicit:""`
	WarmUp         int     `key:"warm_up" doc:"number of first days that are not measured; fewer than days" default:"5" max:"36499"`
	Arrivals       string  `key:"arrivals" doc:"arrival times of jobs: 'fig13' has the daily numbers of the TPU v4 paper's Fig. 13 times the pods; 'poisson' is random; 'log' reads [workload.log]" default:"fig13" choices:"fig13|poisson|log"`
	JobsADay       float64 `key:"jobs_per_day" doc:"for 'poisson': mean number of jobs per day and pod" default:"139.2" above:"0" max:"100000" when:"arrivals=poisson"`
	Mix            string  `key:"mix" doc:"mix of requested slices: 'tpuv4-2022', or slices with weights, such as '4x4x4 13.9, 4x4x8T 16'" default:"tpuv4-2022"`
	Load           float64 `key:"load" doc:"requested chip-time relative to the fleet's, which determines the mean duration" default:"0.8" above:"0" max:"100" when:"arrivals=fig13|poisson"`
	Durations      string  `key:"durations" doc:"distribution of durations" default:"lognormal" choices:"lognormal|exponential|constant" when:"arrivals=fig13|poisson"`
	Sigma          float64 `key:"duration_sigma" doc:"standard deviation of the logarithm of durations" default:"1.5" max:"5" when:"arrivals=fig13|poisson&durations=lognormal"`
	SizeExponent   float64 `key:"duration_by_size" doc:"exponent of the number of chips in mean durations" default:"0" max:"2" when:"arrivals=fig13|poisson"`
	ProdShare      float64 `key:"prod" doc:"share of jobs with the highest priority" default:"0.2" max:"1"`
	BatchShare     float64 `key:"batch" doc:"share of jobs with the second priority; the rest have the lowest" default:"0.5" max:"1"`
	OptInShare     float64 `key:"opt_in" doc:"share of jobs that opt in to routes around a failed switch" default:"0.95" max:"1"`
	MeasuredCubes  int     `key:"measured_cubes" doc:"number of cubes of the slice whose availability is measured; 0 means none. Availability is the share of time in which the slice fits a pod without jobs. Without optical switches, the slice is the smallest box with at least this number of cubes" default:"0" max:"256"`
	AllToAllShare  float64 `key:"all_to_all" doc:"mean share of a step, without faults, that waits for all-to-all traffic; a job's share is drawn up to twice the mean" default:"0.1" max:"0.5"`
	NeighbourShare float64 `key:"neighbours" doc:"mean share of a step, without faults, that waits for neighbour traffic, such as rings; at most 0.5 together with all_to_all" default:"0.035" max:"0.5"`
	EstimateFactor float64 `key:"estimates" doc:"factor within which users' estimates of durations are correct; 1 means exact" default:"1" min:"1" max:"100"`
}

// Log holds the keys of [workload.log], a file with the arrivals of jobs.
type Log struct {
	File   string `key:"file" doc:"file with the jobs" default:""`
	Format string `key:"format" doc:"format of the log: 'rfold', 'helios' (also Acme), 'philly' or 'swf'; docs/fleet.md describes them" default:"rfold" choices:"@joblogs"`
	SHA256 string `key:"sha256" doc:"SHA-256 of the file; other content is rejected" else:"the file's"`
}

// Steps holds the keys of [workload.steps], the simulated training steps of jobs.
type Steps struct {
	Scenarios []string `key:"scenarios" doc:"scenarios of a training step on a torus, files or built-in. A job uses the step whose torus has the same number of chips as its slice. The step is simulated on that slice with the first router of the scenario, with and without a failed switch" default:"" empty:"" implicit:""`
	Digest    string   `key:"digest" doc:"digest of the step scenarios; others are rejected" else:"theirs" implicit:"" when:"steps-named"`
}

// ServerFaultLog holds the keys of [workload.faults.log], a file with the outages of
// servers. It replaces the random failures of machines.
type ServerFaultLog struct {
	File    string `key:"file" doc:"JSON file in InfiniteHBD's form: start and end of faults of servers, in days" default:""`
	Servers int    `key:"servers" doc:"number of servers in the log, including those without failures; a machine has the faults of one server" default:"400" min:"1" max:"1000000" when:"faults-logged"`
	SHA256  string `key:"sha256" doc:"SHA-256 of the file; other content is rejected" else:"the file's" when:"faults-logged"`
}

// FaultModel holds the keys of [workload.faults]: rates of failures, times of repairs, and
// planned maintenance of machines, links and switches.
type FaultModel struct {
	Preset             string          `key:"preset" doc:"fleet whose failure rates are used: TPU v4, or GPU fleets, in which a machine is a server" default:"tpuv4" choices:"tpuv4|infinitehbd|meta-rsc1|meta-rsc2|llama3" when:"faults-drawn"`
	Machine            units.Frequency `key:"machine" doc:"failures per day of a machine of four chips" else:"the preset's" when:"faults-drawn"`
	Link               units.Frequency `key:"link" doc:"failures per day of an optical link; a cube of 4x4x4 chips has 96" default:"0.00005/day"`
	OCS                units.Frequency `key:"ocs" doc:"failures per day of an optical switch; a pod with cubes of 4x4x4 chips has 48" default:"0.0004/day"`
	Shape              float64         `key:"weibull_shape" doc:"shape of the Weibull distribution of times to failure; 1 means exponential" default:"1" min:"0.2" max:"20"`
	MachineRepair      engine.Time     `key:"machine_repair" doc:"mean time to repair a machine" else:"the preset's" when:"faults-drawn"`
	MachineMedian      engine.Time     `key:"machine_repair_median" doc:"median time to repair a machine, at most the mean" else:"the preset's" when:"faults-drawn"`
	LinkRepair         engine.Time     `key:"link_repair" doc:"mean time to replace the cable of a link; the median is half the mean" default:"24h"`
	OnlineShare        float64         `key:"online_repair" doc:"share of link failures that are repaired remotely" default:"0.7" max:"1"`
	OnlineTime         engine.Time     `key:"online_repair_time" doc:"duration of a remote repair" default:"1h"`
	OCSRepair          engine.Time     `key:"ocs_repair" doc:"mean time to repair a switch; the median is 0.72 times the mean" default:"25.1h"`
	OCSMaintenance     units.Frequency `key:"ocs_maintenance" doc:"rate of planned maintenance of a switch" default:"0/day"`
	OCSMaintenanceTime engine.Time     `key:"ocs_maintenance_time" doc:"duration of planned maintenance of a switch" default:"4h"`
	Campaign           int             `key:"ocs_campaign" doc:"day on which all switches are due for maintenance, one after the other if rolling; 0 means none" default:"0" max:"36500"`
	Availability       float64         `key:"host_availability" doc:"share of time for which a machine is available after failures and planned maintenance of cubes; 1 means no maintenance" else:"0.99, or less where failures of the preset's machines alone leave less" above:"0" max:"1"`
	MaintenanceTime    engine.Time     `key:"maintenance" doc:"duration of planned maintenance of a cube" default:"4h"`
	SilentShare        float64         `key:"silent" doc:"share of failures of idle machines that only preflight or the next job detects" default:"0.2" max:"1"`
	MissedShare        float64         `key:"preflight_misses" doc:"share of silent failures that preflight misses; the job then fails after one hour on average" default:"0.05" max:"1"`
}

// Defaults returns a copy of f in which the keys of machines have the values of the preset.
//
// The default availability is 0.99. Failures alone may leave less. Their availability is
// then rounded down to a multiple of 0.001, a value that a scenario file can repeat, and
// so that failures never leave less than the default requires.
func (f FaultModel) Defaults() *FaultModel {
	p := f.preset()
	f.Machine, f.MachineRepair, f.MachineMedian = units.Frequency(p.PerDay), engineTime(p.Mean),
		engineTime(p.Median)

	// Uptime and downtime alternate. Per day of uptime, a machine is down for PerDay * Mean.
	availability := 1 / (1 + p.PerDay*p.Mean.Days())
	f.Availability = min(0.99, math.Floor(availability*1000)/1000)
	return &f
}

// preset returns the reliability of machines by the key preset, or of TPU v4
// machines if the name is unknown.
func (f *FaultModel) preset() fleet.MachineReliability {
	if p, ok := fleet.Presets()[f.Preset]; ok {
		return p
	}
	return fleet.Presets()["tpuv4"]
}

// Pods holds the keys of a fabric of kind "pods-of-cubes".
type Pods struct {
	Pods     int    `key:"pods" doc:"number of pods; a job uses one pod" default:"1" min:"1" max:"256"`
	Preset   string `key:"preset" doc:"TPU whose pods are used" default:"tpuv4" choices:"@pods" implicit:""`
	Cubes    int    `key:"cubes" doc:"number of cubes of a pod" else:"the preset's" above:"0" max:"256"`
	Cube     []int  `key:"cube" doc:"number of chips of a cube along each dimension, at most 64 chips in all; each pair of opposite faces has as many optical switches as links" else:"the preset's, '[4, 4, 4]'" min:"1" max:"64" implicit:""`
	Host     []int  `key:"host" doc:"number of chips of a machine along each dimension of its cube" else:"the preset's, '[2, 2, 1]'" min:"1" max:"64" implicit:""`
	MaxSlice int    `key:"largest_slice" doc:"number of chips of the largest slice that a job can request" else:"the preset's; all chips of the pod if cubes or cube differ from the preset's" above:"0" max:"16384"`
}

// Pod returns each of the pods. Cubes and hosts without three sides have no chips.
func (p *Pods) Pod() torus.Pod {
	preset, _ := torus.FindPreset(p.Preset)
	pod := preset.Pod
	pod.Cubes = cmp.Or(p.Cubes, pod.Cubes)
	setBox(&pod.Cube, p.Cube)
	setBox(&pod.Host, p.Host)
	if pod.Cubes != preset.Cubes || pod.Cube != preset.Cube {
		pod.MaxSlice = pod.Chips()
	}
	pod.MaxSlice = cmp.Or(p.MaxSlice, pod.MaxSlice)
	return pod
}

// setBox sets a box to the sides that a key gives, if it does. Without three sides, the box has
// no chips.
func setBox(b *torus.Box, sides []int) {
	if len(sides) > 0 {
		*b = torus.Box{}
	}
	if len(sides) == len(b) {
		*b = torus.Box(sides)
	}
}

// Queue holds the keys of [policy.queue]: the order in which waiting jobs start, and
// the means to make space for them.
type Queue struct {
	Discipline    string      `key:"discipline" doc:"which waiting jobs may start, in order of priority and submission: 'fcfs', none before one that does not fit; 'backfill', any that fits; 'easy', any that fits and by estimates does not delay the first that does not" default:"backfill" choices:"fcfs|backfill|easy"`
	Preemption    bool        `key:"preemption" doc:"whether jobs that do not fit replace running jobs of lower priority, those with the least chip-time lost" default:"false"`
	PreemptionGap engine.Time `key:"preemption_gap" doc:"minimum time between preemptions of a job" default:"4h" when:"preemption=true"`
	Notice        engine.Time `key:"notice" doc:"notice before preemption; a job writes a checkpoint if that takes no longer, and then loses no work" default:"10min" when:"preemption=true"`
	Defragment    bool        `key:"defragmentation" doc:"whether running jobs move, within a pod or to another, if this makes space for a waiting job and costs less chip-time than its wait" default:"false"`
	Reserve       int         `key:"reserve" doc:"number of free cubes per pod reserved for interrupted jobs" default:"0" max:"256"`
}

// FaultPolicy holds the keys of [policy.fault]: the reactions to failures, and the order
// of repairs.
type FaultPolicy struct {
	OCS              string  `key:"ocs" doc:"reaction to a failed switch: 'wait', jobs of whole cubes wait for its repair; 'route', jobs that opted in restart on routes around it; 'in-place', these change routes without a restart; 'cheapest', these restart on such routes, restart in another pod, or wait, with the lowest expected loss, and return to normal routes after the repair if that is cheaper" default:"route" choices:"wait|route|in-place|cheapest"`
	Machine          string  `key:"machine" doc:"reaction to a failed machine or link of a job: 'reschedule', the job restarts on other cubes; 'hot-standby', a free cube takes over and no work is lost; 'cheapest', the one that loses less time" default:"reschedule" choices:"reschedule|hot-standby|cheapest"`
	Slowdown         string  `key:"slowdown" doc:"slowdown of a step on routes around a failed switch: 'loads', from the maximum link load of optimised paths for the slice, the switch's dimension and the job's traffic; 'table3', a random row of the TPU v4 paper's Table 3 per job; or 'constant'. With two failed switches jobs wait" default:"loads" choices:"loads|table3|constant"`
	ConstantSlowdown float64 `key:"constant_slowdown" doc:"slowdown for 'constant'; the default is the mean of Table 3" default:"0.04" max:"100" when:"slowdown=constant"`
	Rolling          bool    `key:"rolling" doc:"whether planned maintenance of a switch waits until all others of its pod are up" default:"true"`
	Order            string  `key:"repair_order" doc:"order of repairs: 'switches' first, or by 'arrival'" default:"switches" choices:"switches|arrival"`
	Maintenance      string  `key:"maintenance" doc:"start of planned maintenance: 'drain', jobs write a checkpoint and leave; 'at-job-end', when the last job on the cube has ended" default:"drain" choices:"drain|at-job-end"`
	Crews            int     `key:"repair_crews" doc:"maximum number of simultaneous repairs, except remote ones; 0 means no limit" default:"0" max:"100000"`
}

// OperationTimes holds the keys of [policy.times], the durations of operations. Config.Times has
// the same durations in the ticks of the simulation.
type OperationTimes struct {
	Detect     engine.Time `key:"detect" doc:"time from a failure to the reaction" default:"30s"`
	Poll       engine.Time `key:"poll" doc:"interval at which the pod manager connects waiting jobs" default:"5s"`
	Switch     engine.Time `key:"switch" doc:"time for mirrors to move" default:"10ms"`
	Connect    engine.Time `key:"connect" doc:"time until links are trained and verified" default:"10s"`
	Preflight  engine.Time `key:"preflight" doc:"duration of the check of the machines before each start; 0s means none" default:"120s"`
	Session    engine.Time `key:"session" doc:"time to set up a session, compile and restore a checkpoint" default:"300s"`
	Checkpoint engine.Time `key:"checkpoint" doc:"time for which a job stops to write a checkpoint" else:"120s; 6.3s with workload.faults.preset of a fleet of GPUs"`
	Interval   engine.Time `key:"checkpoint_interval" doc:"work between checkpoints; 0s means Daly's optimum for the job's size" default:"0s"`
	Standby    engine.Time `key:"standby" doc:"time to move state to a standby cube" default:"60s"`
}

// Defaults returns t with the duration of a checkpoint on the machines of f's
// preset.
func (t OperationTimes) Defaults(f *FaultModel) *OperationTimes {
	t.Checkpoint = engineTime(f.preset().Checkpoint)
	return &t
}

// ComparedPlacements holds the key of the table [policy] itself.
type ComparedPlacements struct {
	Placements []string `key:"placements" all:"" doc:"placements, or 'all', to compare, one row each" choices:"@placements" default:"static-first-fit,static-best-fit,reconfigurable"`
}

// Keys holds the keys of [policy] and its sub-tables.
type Keys struct {
	ComparedPlacements
	Queue Queue
	Fault FaultPolicy
	Times OperationTimes
}

// engineTime converts a time of package fleet, in milliseconds, to the finer ticks of keys.
func engineTime(t fleet.Time) engine.Time {
	return engine.Time(t/fleet.Millisecond) * engine.Millisecond
}
