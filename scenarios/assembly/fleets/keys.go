package fleets

import (
	"math"

	"sim/engine"
	"sim/engine/units"
	"sim/workloads/fleet"
)

// Fleet is a workload of kind "fleet": jobs over months.
type Fleet struct {
	Days      int     `key:"days" doc:"days that are simulated" default:"60" min:"1" max:"36500"`
	WarmUp    int     `key:"warm_up" doc:"days of these, from the first, that are not measured; fewer than days" default:"5" max:"36499"`
	Arrivals  string  `key:"arrivals" doc:"when jobs are submitted: 'fig13', as many a day as in the TPU v4 paper's Fig. 13, times the pods; 'poisson', at random; 'log', as in the file of [workload.log]" default:"fig13" choices:"fig13|poisson|log"`
	JobsADay  float64 `key:"jobs_a_day" doc:"of 'poisson', for each pod" default:"139.2" above:"0" max:"100000" when:"arrivals=poisson"`
	Mix       string  `key:"mix" doc:"slices that jobs ask for: 'tpuv4-2022', or slices of chips with how often each is asked for, such as '4x4x4 13.9, 4x4x8T 16'" default:"tpuv4-2022"`
	Load      float64 `key:"load" doc:"chip-time that is asked for over that of the fleet, which sets the mean duration" default:"0.8" above:"0" max:"100" when:"arrivals=fig13|poisson"`
	Durations string  `key:"durations" doc:"distribution of durations" default:"lognormal" choices:"lognormal|exponential|constant" when:"arrivals=fig13|poisson"`
	Sigma     float64 `key:"duration_sigma" doc:"standard deviation of the logarithm of durations" default:"1.5" max:"5" when:"arrivals=fig13|poisson&durations=lognormal"`
	BySize    float64 `key:"duration_by_size" doc:"durations grow with this power of the chips" default:"0" max:"2" when:"arrivals=fig13|poisson"`
	Prod      float64 `key:"prod" doc:"share of jobs of the highest priority" default:"0.2" max:"1"`
	Batch     float64 `key:"batch" doc:"share of jobs of the next priority; the rest has the lowest" default:"0.5" max:"1"`
	OptIn     float64 `key:"opt_in" doc:"share of jobs that opt in to routes round a switch that is down" default:"0.95" max:"1"`
	Watch     int     `key:"watch" doc:"cubes of a slice whose availability is measured: the share of time in which a pod without jobs has room for one; where cubes do not move, of the smallest box that holds so many; 0 is none" default:"0" max:"64"`
	AllToAll  float64 `key:"all_to_all" doc:"mean share of a step, with all links up, that waits for traffic among all chips; each job's is up to twice as much" default:"0.1" max:"0.5"`
	Neighbour float64 `key:"neighbours" doc:"likewise, that waits for traffic between neighbours, such as that of rings; both sum to a half at most" default:"0.035" max:"0.5"`
	Estimates float64 `key:"estimates" doc:"users' estimates of durations are within this factor; 1 is exact" default:"1" min:"1" max:"100"`
}

// Log are the keys of [workload.log].
type Log struct {
	File   string `key:"file" doc:"file with the jobs" default:""`
	Format string `key:"format" doc:"its form: RFold's CSV, 'helios' for that of Helios and of Acme, 'philly' for Philly's JSON, or 'swf'; docs/fleet.md says what each holds" default:"rfold" choices:"@joblogs"`
	SHA256 string `key:"sha256" doc:"of the file, which it must have" else:"the file's"`
}

// Steps are the keys of [workload.steps].
type Steps struct {
	Scenarios []string `key:"scenarios" doc:"scenarios of a step on a torus, files or built in: the step of jobs whose slice has as many chips, on which it is simulated, twisted or not, under its first router, and with a switch down" default:"" empty:"" implicit:""`
	Digest    string   `key:"digest" doc:"of these scenarios, which they must have" else:"theirs" implicit:"" when:"steps-named"`
}

// FaultLog are the keys of [workload.faults.log].
type FaultLog struct {
	File    string `key:"file" doc:"JSON file in InfiniteHBD's form: when faults of servers begin and end, in days" default:""`
	Servers int    `key:"servers" doc:"servers that the log is of, those that never failed too; a machine has the faults of one" default:"400" min:"1" max:"1000000" when:"faults-logged"`
	SHA256  string `key:"sha256" doc:"of the file, which it must have" else:"the file's" when:"faults-logged"`
}

// Faults are the keys of [workload.faults].
type Faults struct {
	Preset        string          `key:"preset" doc:"whose machines fail: those of TPU v4, or of other fleets, of which a machine counts as a server" default:"tpuv4" choices:"tpuv4|infinitehbd|meta-rsc1|meta-rsc2|llama3" when:"faults-drawn"`
	Machine       units.Frequency `key:"machine" doc:"failures of a machine of four chips" else:"the preset's" when:"faults-drawn"`
	Link          units.Frequency `key:"link" doc:"failures of an optical link of a cube, of which it has 96" default:"0.00005/day"`
	OCS           units.Frequency `key:"ocs" doc:"failures of an optical switch, of which a pod has 48" default:"0.0004/day"`
	Shape         float64         `key:"weibull_shape" doc:"shape of the times to failure; 1 is exponential" default:"1" min:"0.2" max:"20"`
	MachineRepair engine.Time     `key:"machine_repair" doc:"mean time to repair a machine" else:"the preset's" when:"faults-drawn"`
	MachineMedian engine.Time     `key:"machine_repair_median" doc:"median of it, at most the mean" else:"the preset's" when:"faults-drawn"`
	LinkRepair    engine.Time     `key:"link_repair" doc:"mean time to replace the cable of a link; the median is half of it" default:"24h"`
	Online        float64         `key:"online_repair" doc:"share of failures of links that are repaired from afar" default:"0.7" max:"1"`
	OnlineTime    engine.Time     `key:"online_repair_time" doc:"time that this takes" default:"1h"`
	OCSRepair     engine.Time     `key:"ocs_repair" doc:"mean time to repair a switch; the median is 0.72 of it" default:"25.1h"`
	OCSWork       units.Frequency `key:"ocs_maintenance" doc:"how often a switch is due for planned maintenance" default:"0/day"`
	OCSWindow     engine.Time     `key:"ocs_maintenance_time" doc:"time that planned maintenance of a switch takes" default:"4h"`
	Campaign      int             `key:"ocs_campaign" doc:"day on which all switches are due for maintenance, one after the other where it is rolling; 0 is none" default:"0" max:"36500"`
	Availability  float64         `key:"host_availability" doc:"share of time that a machine is available: planned maintenance of cubes takes what failures leave of the rest; 1 is no maintenance" else:"0.99, or less where failures of the preset's machines alone leave less" above:"0" max:"1"`
	Window        engine.Time     `key:"maintenance" doc:"time that planned maintenance of a cube takes" default:"4h"`
	Silent        float64         `key:"silent" doc:"share of failures of idle machines that are found by preflight or by the next job alone" default:"0.2" max:"1"`
	Missed        float64         `key:"preflight_misses" doc:"share of these that preflight misses; the job fails then, an hour into its run on average" default:"0.05" max:"1"`
}

// Defaults returns f with the failures of machines of its preset, and an availability that these leave.
func (f Faults) Defaults() *Faults {
	p := f.preset()
	f.Machine, f.MachineRepair, f.MachineMedian = units.Frequency(p.PerDay), engineTime(p.Mean), engineTime(p.Median)
	up := 1 / (1 + p.PerDay*p.Mean.Days())
	f.Availability = min(0.99, math.Floor(up*1000)/1000)
	return &f
}

// preset returns the machines of the preset, of TPU v4 if there is none.
func (f *Faults) preset() fleet.MachineReliability {
	if p, ok := fleet.Presets()[f.Preset]; ok {
		return p
	}
	return fleet.Presets()["tpuv4"]
}

// engineTime converts a time of a fleet to that of keys.
func engineTime(t fleet.Time) engine.Time {
	return engine.Time(t/fleet.Millisecond) * engine.Millisecond
}

// Defaults returns t with the time that a checkpoint takes on the machines of f's preset.
func (t Spans) Defaults(f *Faults) *Spans {
	t.Checkpoint = engineTime(f.preset().Checkpoint)
	return &t
}

// Pods is a fabric of kind "pods-of-cubes".
type Pods struct {
	Pods int `key:"pods" doc:"pods of 64 cubes of 4x4x4 chips, 16 machines each, joined by 48 optical switches; jobs do not span pods" default:"1" min:"1" max:"256"`
}

// Queue are the keys of [policy.queue].
type Queue struct {
	Discipline string      `key:"discipline" doc:"which jobs that wait are tried, by priority and then submission: 'fcfs', none before one that does not fit; 'backfill', any that fits; 'easy', any that fits and does not delay the first that does not, by the estimates" default:"backfill" choices:"fcfs|backfill|easy"`
	Preemption bool        `key:"preemption" doc:"jobs that do not fit take the place of running ones of lower priority, those that lose the least chip-time" default:"false"`
	Spared     engine.Time `key:"preemption_gap" doc:"a job is preempted at most once in such a time" default:"4h" when:"preemption=true"`
	Notice     engine.Time `key:"notice" doc:"that a job is given before it is preempted; where a checkpoint takes no longer it writes one, and loses no work" default:"10min" when:"preemption=true"`
	Defragment bool        `key:"defragmentation" doc:"running jobs are moved, within a pod or to another, where that makes room for one that waits and costs less chip-time than its waiting" default:"false"`
	Reserve    int         `key:"reserve" doc:"free cubes of a pod that only jobs which were interrupted may have" default:"0" max:"64"`
}

// Fault are the keys of [policy.fault].
type Fault struct {
	OCS         string  `key:"ocs" doc:"what is done about a switch that is down: 'wait', jobs of whole cubes wait for its repair; 'route', those that opted in restart on routes round it; 'in-place', these change routes without a restart; 'cheapest', they restart on such routes, here or in a pod without a fault, or wait, whatever is expected to lose least, and leave the routes when the switch is repaired if that pays" default:"route" choices:"wait|route|in-place|cheapest"`
	Machine     string  `key:"machine" doc:"what is done about a machine or link of a job: 'reschedule', it restarts on other cubes; 'hot-standby', a free cube takes over and no work is lost; 'cheapest', whichever loses less time" default:"reschedule" choices:"reschedule|hot-standby|cheapest"`
	Slowdown    string  `key:"slowdown" doc:"how much longer a step takes on routes round a switch that is down: 'loads', by the most loaded link under optimised routes for the slice, the switch's dimension and the job's traffic; 'table3', as a row of the TPU v4 paper's Table 3 that each job draws; 'constant'. With two switches down jobs wait" default:"loads" choices:"loads|table3|constant"`
	Slower      float64 `key:"slower" doc:"of 'constant'; the default is the mean of Table 3" default:"0.04" max:"100" when:"slowdown=constant"`
	Rolling     bool    `key:"rolling" doc:"planned maintenance of a switch waits until all others of its pod are up" default:"true"`
	Order       string  `key:"repair_order" doc:"what crews repair next: 'switches', these before all else; 'arrival', what failed first" default:"switches" choices:"switches|arrival"`
	Maintenance string  `key:"maintenance" doc:"how planned maintenance begins: 'drain', jobs take a checkpoint and leave; 'at-job-end', when the last job on the cube has ended" default:"drain" choices:"drain|at-job-end"`
	Crews       int     `key:"repair_crews" doc:"repairs at once, but for those from afar; 0 is as many as there are" default:"0" max:"100000"`
}

// Spans are the keys of [policy.times].
type Spans struct {
	Detect     engine.Time `key:"detect" doc:"from a failure until it is acted upon" default:"30s"`
	Poll       engine.Time `key:"poll" doc:"how often the pod manager looks for jobs to connect" default:"5s"`
	Switch     engine.Time `key:"switch" doc:"time that mirrors move" default:"10ms"`
	Connect    engine.Time `key:"connect" doc:"from there until links are trained and verified" default:"10s"`
	Preflight  engine.Time `key:"preflight" doc:"check of the machines before each start; 0s is none" default:"120s"`
	Session    engine.Time `key:"session" doc:"to set up a session, compile, and restore a checkpoint" default:"300s"`
	Checkpoint engine.Time `key:"checkpoint" doc:"time that a job stops to write a checkpoint" else:"120s; 6.3s with workload.faults.preset of a fleet of GPUs"`
	Interval   engine.Time `key:"checkpoint_interval" doc:"work between checkpoints; 0s is Daly's optimum for the job's size" default:"0s"`
	Standby    engine.Time `key:"standby" doc:"to move state to a cube that takes over" default:"60s"`
}

// Compared are the keys of [policy] itself.
type Compared struct {
	Placements []string `key:"placements" doc:"which placements are compared, one row each" choices:"@placements" default:"static-first-fit,static-best-fit,reconfigurable"`
}

// Keys are the keys of [policy] and below.
type Keys struct {
	Compared
	Queue Queue
	Fault Fault
	Times Spans
}
