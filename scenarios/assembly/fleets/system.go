package fleets

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"sim/engine"
	"sim/policies/placement"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
	"sim/workloads/fleet"
)

// Scenario is a fleet as files describe it.
type Scenario struct {
	Seed     uint64
	Fleet    Fleet
	Log      Log
	Faults   Faults
	FaultLog FaultLog
	Pods     int
	Policy   Keys
	Read     func(file string) ([]byte, error) // a file that is named
	Steps    []Step
}

// faultLog reads the log of faults.
func (s *Scenario) faultLog() (*fleet.FaultLog, error) {
	data, err := s.Read(s.FaultLog.File)
	if err != nil {
		return nil, err
	}
	return fleet.ReadFaults(s.FaultLog.File, data, s.FaultLog.Servers)
}

// Description says in a line what is simulated.
func (s *Scenario) Description() string {
	pods := "a pod"
	if s.Pods > 1 {
		pods = fmt.Sprintf("%d pods", s.Pods)
	}
	load := fmt.Sprintf("load %g", s.Fleet.Load)
	if s.Fleet.Arrivals == "log" {
		load = "jobs of " + filepath.Base(s.Log.File)
	}
	return fmt.Sprintf("%d days of %s, %s, %s", s.Fleet.Days, pods, load,
		s.Policy.Queue.Discipline)
}

func fleetTime(t engine.Time) fleet.Time { return fleet.FromSeconds(t.Seconds()) }

// Mix returns the slices that are asked for.
func (s *Scenario) Mix() (fleet.Mix, error) {
	if m, ok := fleet.Mixes()[s.Fleet.Mix]; ok {
		return m, nil
	}
	return fleet.ParseMix(s.Fleet.Mix)
}

// FailureRates returns the failures and repairs.
func (s *Scenario) FailureRates() (fleet.Rates, error) {
	f := &s.Faults
	machine, err := fleet.WithMedian(fleetTime(f.MachineRepair), fleetTime(f.MachineMedian))
	if f.MachineRepair == 0 {
		machine, err = fleet.Spread{Form: fleet.Constant}, nil
	}
	if err != nil {
		return fleet.Rates{}, err
	}
	part := func(t engine.Time, median float64) fleet.Spread {
		x, err := fleet.WithMedian(fleetTime(t), fleet.FromSeconds(t.Seconds()*median))
		if err != nil { // none at all
			return fleet.Spread{Form: fleet.Constant, Mean: fleetTime(t)}
		}
		return x
	}

	r := fleet.Rates{
		fleet.Machine: {PerDay: float64(f.Machine), Weibull: f.Shape, Repair: machine},
		fleet.Cable: {
			PerDay: float64(f.Link), Weibull: f.Shape, Repair: part(f.LinkRepair, 0.5),
			QuickShare: f.OnlineShare, QuickRepair: fleet.Spread{Form: fleet.Constant,
				Mean: fleetTime(f.OnlineTime)},
		},
		fleet.Switch: {PerDay: float64(f.OCS), Weibull: f.Shape,
			Repair: part(f.OCSRepair, 0.72)},
		fleet.Cube: {Weibull: 1, Repair: fleet.Spread{Form: fleet.Constant,
			Mean: fleetTime(f.MaintenanceTime)}},
		fleet.SwitchWork: {PerDay: float64(f.OCSMaintenance), Weibull: 1,
			Repair: fleet.Spread{Form: fleet.Constant,
				Mean: fleetTime(f.OCSMaintenanceTime)}},
	}

	if s.FaultLog.File != "" {
		log, err := s.faultLog()
		if err != nil {
			return r, err
		}
		r[fleet.Machine] = log.Process()
	}

	for i := range r {
		if err := r[i].Check(); err != nil {
			return r, err
		}
	}

	if f.Availability == 1 {
		return r, nil
	}
	if fleetTime(f.MaintenanceTime) < fleet.Minute {
		return r, fmt.Errorf("fleet: planned maintenance that takes %v; want at least a minute, or a host availability of 1", fleetTime(f.MaintenanceTime))
	}
	return r, r.MaintenanceFor(f.Availability)
}

// SwitchesInMaintenance returns how many switches of a pod are due for maintenance at a time, on average.
func SwitchesInMaintenance(f *Faults) float64 {
	return fleet.PodSwitches * float64(f.OCSMaintenance) * fleetTime(f.OCSMaintenanceTime).Days()
}

// EstimateEvents returns about how many jobs are drawn and how many parts fail or are maintained, at rates that Rates returned.
func (s *Scenario) EstimateEvents(r fleet.Rates) (jobs, failures float64) {
	perDay := machinesPerPod*r[fleet.Machine].PerDay + cablesPerPod*r[fleet.Cable].PerDay + fleet.PodSwitches*(r[fleet.Switch].PerDay+r[fleet.SwitchWork].PerDay) + fleet.PodCubes*r[fleet.Cube].PerDay
	podDays := float64(s.Fleet.Days) * float64(s.Pods)
	aDay := s.Fleet.JobsADay
	if s.Fleet.Arrivals == "fig13" {
		aDay = (&fleet.Demand{ByDay: fleet.Fig13()}).MeanPerDay()
	}
	return aDay * podDays, perDay * podDays
}

// demand returns the jobs that are drawn.
func (s *Scenario) demand() (*fleet.Demand, error) {
	f := &s.Fleet
	mix, err := s.Mix()
	if err != nil {
		return nil, err
	}
	d := &fleet.Demand{
		Seed: s.Seed, Mix: mix, PerDay: f.JobsADay * float64(s.Pods),
		Until: fleet.Time(f.Days) * fleet.Day,
		Chips: s.Pods * fleet.PodCubes * fleet.CubeChips, Load: f.Load,
		Durations: fleet.Form(f.Durations), Sigma: f.Sigma, SizeExponent: f.BySize,
		Bands:             [fleet.NumBands]float64{f.Prod, f.Batch, max(0, 1-f.Prod-f.Batch)},
		FaultRoutingShare: f.OptIn, EstimateFactor: f.Estimates,
		Traffic: fleet.Traffic{AllToAll: f.AllToAll, Neighbours: f.Neighbour},
	}

	if f.Arrivals == "fig13" {
		for _, n := range fleet.Fig13() {
			d.ByDay = append(d.ByDay, n*s.Pods)
		}
	}

	return d, d.Check()
}

// Config returns the fleet, what it is asked to do and what befalls it. It fails where keys contradict each other or a
// file cannot be used.
func (s *Scenario) Config() (*Config, error) {
	rates, err := s.FailureRates()
	if err != nil {
		return nil, err
	}
	d, err := s.demand()
	if err != nil {
		return nil, err
	}
	jobs, told := d.Jobs, ""
	if s.Fleet.Arrivals == "log" {
		data, err := s.Read(s.Log.File)
		if err != nil {
			return nil, err
		}
		log, err := d.ReadJobs(s.Log.Format, s.Log.File, data)
		if err != nil {
			return nil, err
		}
		jobs, told = func() fleet.Source { return &fleet.List{Jobs: log.Jobs} }, log.Words()
	}

	p, t := &s.Policy, &s.Policy.Times
	return &Config{
		Seed: s.Seed, Pods: s.Pods, WatchedCubes: s.Fleet.Watch, Jobs: jobs,
		LogNote: told, Rates: rates,
		Start: fleet.Time(s.Fleet.WarmUp) * fleet.Day,
		End:   fleet.Time(s.Fleet.Days) * fleet.Day,
		Times: Times{
			Detect: fleetTime(t.Detect), Poll: fleetTime(t.Poll), Switch: fleetTime(t.Switch),
			LinkTraining: fleetTime(t.Connect), Preflight: fleetTime(t.Preflight),
			Session: fleetTime(t.Session), Checkpoint: fleetTime(t.Checkpoint),
			Interval: fleetTime(t.Interval), Standby: fleetTime(t.Standby),
			Notice: fleetTime(p.Queue.Notice),
		},
		Queue: p.Queue, Fault: p.Fault, MinPreemptionGap: fleetTime(p.Queue.PreemptionGap),
		CampaignStart: fleet.Time(s.Faults.Campaign) * fleet.Day,
		SilentShare:   s.Faults.SilentShare, MissedShare: s.Faults.MissedShare,
		RouteSlowdown: s.slowdownFunc(), ShapeSlowdown: s.shapeSlowdown,
	}, nil
}

// fleetSystem is a fleet of which placements are compared.
type fleetSystem struct {
	config       *Config
	goodputBound float64 // on goodput
	spares       int
}

// New makes the system of s, which records what happens where that is asked for.
func New(ctx context.Context, s *Scenario, record bool) (assembly.System, error) {
	c, err := s.Config()
	if err != nil {
		return nil, err
	}
	const mostRecorded = 1e6 // jobs, of half a gigabyte
	jobs, _ := s.EstimateEvents(c.Rates)
	c.Record = record && jobs <= mostRecorded
	bound, err := goodputBound(ctx, c)
	return &fleetSystem{c, bound, newsvendorSpares(c)}, err
}

// Reference returns nothing: no fleet is ideal.
func (*fleetSystem) Reference() map[string]float64 { return map[string]float64{} }

// Begin says what a log of jobs lacks.
func (y *fleetSystem) Begin(_ context.Context, o *assembly.Outcome) error {
	if y.config.LogNote != "" {
		o.Detail.Title += "; of the log: " + y.config.LogNote
	}
	return nil
}

// Decide simulates the fleet under a placement.
func (y *fleetSystem) Decide(
	ctx context.Context, policy string, _ int, _ float64,
) (*assembly.PolicyResult, error) {
	begin := time.Now()
	for _, row := range placement.Table() {
		if row.Name != policy {
			continue
		}
		o, err := Simulate(ctx, y.config, row.New())
		if err != nil {
			return nil, err
		}
		a := &assembly.PolicyResult{Row: y.newRow(policy, o),
			Timings: result.PolicyTimings{SimulateS: time.Since(begin).Seconds()}}
		a.Describe = func(_ context.Context, out *assembly.Outcome) { y.config.describe(policy, o.recorder, out) }
		return a, nil
	}

	return nil, fmt.Errorf("fleet: no placement %q", policy)
}

// describe adds the files of jobs and events under a placement, and who had the cubes.
func (c *Config) describe(policy string, rec *recorder, o *assembly.Outcome) {
	if rec == nil {
		return
	}
	o.Files = append(o.Files, rec.files(policy)...)
	from, until := c.Start, min(c.End, c.Start+shownDays*fleet.Day)
	o.Detail.Policies = append(o.Detail.Policies, result.Simulation{
		Policy: policy, Fleet: &result.Fleet{FromS: from.Seconds(), UntilS: until.Seconds(),
			Cubes: rec.cubeTracks(c), FreeSamples: rec.freeSamples,
			Events: rec.shownEvents(c)},
	})
}

// newRow returns the metrics of an outcome.
func (y *fleetSystem) newRow(policy string, o *Outcome) result.Row {
	m := map[string]float64{
		"utilisation": o.Utilisation(), "goodput": o.Share(Work),
		"bound_goodput":            y.goodputBound,
		"xconnects_per_day":        float64(o.Links) / o.Span.Days(),
		"xconnect_changes_per_day": float64(o.Connections) / o.Span.Days(),
		"turnaround_mean_s":        o.Turnaround, "bound_turnaround_s": o.BoundTurnaround,
		"efficiency": o.Efficiency(), "expected_efficiency": o.ExpectedEfficiency,
		"slices_fit": o.SlicesFit, "bound_slices_fit": o.MaxSlicesFit,
		"work_done":           o.RequestedWork / (float64(o.Chips) * float64(o.Span)),
		"system_availability": o.TolerableShare,
	}

	for name, n := range map[string]int{
		"jobs": o.Submitted, "jobs_done": o.Ended, "jobs_refused": o.Rejected,
		"interrupts": o.Interrupts, "evictions": o.Evictions,
		"preflight_failures": o.PreflightFailures,
		"takeovers":          o.Takeovers, "preemptions": o.Preemptions,
		"migrations":        o.Migrations,
		"spares_newsvendor": y.spares,
	} {
		m[name] = float64(n)
	}

	for u := range NumUses {
		if u != Work {
			m["share_"+u.String()] = o.Share(u)
		}
	}

	if down := o.Share(Down) + o.Share(Maintenance); down < 1 {
		m["goodput_of_healthy"] = o.Share(Work) / (1 - down)
	}
	if o.Share(Work) > 0 {
		m["gap"] = y.goodputBound/o.Share(Work) - 1
	}
	if o.BoundTurnaround > 0 {
		m["gap_turnaround"] = o.Turnaround/o.BoundTurnaround - 1
	}
	o.availability.addMetrics(y.config, o.rewires, m)
	for kind, name := range partNames {
		m[name+"_failures"], m[name+"_repairs"] = float64(o.Failures[kind]),
			float64(o.Repairs[kind])
	}
	if o.Submitted > 0 {
		m["interrupted_share"] = float64(o.Interrupted) / float64(o.Submitted)
	}
	if o.MeanRunning > 0 {
		m["ft_share"] = o.MeanRerouted / o.MeanRunning
	}
	if n := len(o.Waits); n > 0 {
		sum := 0.0
		for _, w := range o.Waits {
			sum += w.Seconds()
		}
		m["queue_mean_s"] = sum / float64(n)
		for name, q := range map[string]float64{"queue_p50_s": 0.5, "queue_p90_s": 0.9, "queue_p99_s": 0.99} {
			m[name] = o.Waits[min(n-1, int(math.Ceil(q*float64(n)))-1)].Seconds()
		}
	}

	return result.Row{Policy: policy, Metrics: m, Labels: map[string]string{}}
}

// partNames name parts in metrics.
var partNames = map[fleet.Part]string{fleet.Machine: "machine", fleet.Cable: "link", fleet.Switch: "ocs"}
