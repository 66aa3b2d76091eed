// This file converts the keys of a scenario (Scenario) into the input of simulations
// (Config), and implements assembly.System, which compares placements.

package fleets

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"sim/engine"
	"sim/fabric/torus"
	"sim/internal/parallel"
	"sim/internal/text"
	"sim/policies/placement"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
	"sim/workloads/fleet"
)

// Scenario is a fleet as scenario files describe it.
type Scenario struct {
	Seed     uint64
	Fleet    Fleet
	Log      Log
	Faults   FaultModel
	FaultLog ServerFaultLog
	Pods     Pods
	Policy   Keys
	Read     func(file string) ([]byte, error) // returns the content of a file that a key names
	Steps    []Step                            // simulated steps, by the number of chips of a job
}

// faultLog reads the log of faults that the scenario names.
func (s *Scenario) faultLog() (*fleet.FaultLog, error) {
	data, err := s.Read(s.FaultLog.File)
	if err != nil {
		return nil, err
	}
	return fleet.ReadFaults(s.FaultLog.File, data, s.FaultLog.Servers)
}

// Description returns one line that describes the simulation.
func (s *Scenario) Description() string {
	pods := "a pod"
	if s.Pods.Pods > 1 {
		pods = fmt.Sprintf("%d pods", s.Pods.Pods)
	}
	if p := s.Pods.Pod(); p != *torus.TPUv4Pod() {
		pods += fmt.Sprintf(" of %d cubes of %s", p.Cubes, p.Cube)
	}
	load := fmt.Sprintf("load %g", s.Fleet.Load)
	if s.Fleet.Arrivals == "log" {
		load = "jobs of " + filepath.Base(s.Log.File)
	}
	seeds := ""
	if n := s.Fleet.Seeds; n > 1 {
		seeds = fmt.Sprintf("; means of %d seeds, cubes with seed %d", n, s.Seed)
	}
	return fmt.Sprintf("%d days of %s, %s, %s%s", s.Fleet.Days, pods, load,
		s.Policy.Queue.Discipline, seeds)
}

// fleetTime converts a time of keys to a time of fleets.
func fleetTime(t engine.Time) fleet.Time { return fleet.FromSeconds(t.Seconds()) }

// Mix returns the mix of requested slices.
func (s *Scenario) Mix() (fleet.Mix, error) {
	pod := s.Pods.Pod()
	if m, ok := fleet.Mixes()[s.Fleet.Mix]; ok {
		return m.In(&pod)
	}
	return fleet.ParseMix(s.Fleet.Mix, &pod)
}

// FailureRates returns the rates of failures, repairs and planned maintenance by
// kind of part.
func (s *Scenario) FailureRates() (fleet.Rates, error) {
	f := &s.Faults

	// The repair times of machines are given by mean and median.
	machine, err := fleet.WithMedian(fleetTime(f.MachineRepair), fleetTime(f.MachineMedian))
	if f.MachineRepair == 0 {
		machine, err = fleet.Spread{Form: fleet.Constant}, nil
	}
	if err != nil {
		return fleet.Rates{}, err
	}

	constant := func(t engine.Time) fleet.Spread {
		return fleet.Spread{Form: fleet.Constant, Mean: fleetTime(t)}
	}

	// The repair times of links and switches have a fixed ratio of median to mean.
	const (
		linkRepairMedian = 0.5
		ocsRepairMedian  = 0.72
	)
	withMean := func(mean engine.Time, medianRatio float64) fleet.Spread {
		x, err := fleet.WithMedian(fleetTime(mean), fleet.FromSeconds(mean.Seconds()*medianRatio))
		if err != nil { // the mean is 0
			return constant(mean)
		}
		return x
	}

	r := fleet.Rates{
		fleet.Machine: {PerDay: float64(f.Machine), Weibull: f.Shape, Repair: machine},
		fleet.Cable: {
			PerDay: float64(f.Link), Weibull: f.Shape,
			Repair:      withMean(f.LinkRepair, linkRepairMedian),
			RemoteShare: f.OnlineShare, RemoteRepair: constant(f.OnlineTime),
		},
		fleet.Switch: {
			PerDay: float64(f.OCS), Weibull: f.Shape,
			Repair: withMean(f.OCSRepair, ocsRepairMedian),
		},
		fleet.Cube: {Weibull: 1, Repair: constant(f.MaintenanceTime)},
		fleet.SwitchWork: {
			PerDay: float64(f.OCSMaintenance), Weibull: 1, Repair: constant(f.OCSMaintenanceTime),
		},
	}

	// A log of faults replaces the drawn failures of machines.
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

	// Choose the rate of maintenance of cubes so that hosts have the given
	// availability.
	if f.Availability == 1 {
		return r, nil
	}
	if window := fleetTime(f.MaintenanceTime); window < fleet.Minute {
		return r, fmt.Errorf("fleet: planned maintenance that takes %v; want at least a minute, or a host availability of 1", window)
	}
	return r, r.SetMaintenance(f.Availability)
}

// SwitchesInMaintenance returns the mean number of switches of a pod whose
// maintenance is due at the same time.
func (s *Scenario) SwitchesInMaintenance() float64 {
	f, pod := &s.Faults, s.Pods.Pod()
	return float64(pod.Cube.Switches()) * float64(f.OCSMaintenance) * fleetTime(f.OCSMaintenanceTime).Days()
}

// EstimateEvents returns the approximate number of jobs, and of failures and
// maintenances. r are the rates that FailureRates returned.
func (s *Scenario) EstimateEvents(r fleet.Rates) (jobs, failures float64) {
	perDay, pod := 0.0, s.Pods.Pod()
	for kind, n := range partCounts(&pod) {
		perDay += float64(n) * r[kind].PerDay
	}
	podDays := float64(s.Fleet.Days) * float64(s.Pods.Pods)
	jobsPerDay := s.Fleet.JobsADay
	if s.Fleet.Arrivals == "fig13" {
		jobsPerDay = (&fleet.Demand{ByDay: fleet.Fig13()}).MeanPerDay()
	}
	return jobsPerDay * podDays, perDay * podDays
}

// demand returns the distribution from which jobs are drawn. A log of jobs uses
// the properties that it does not contain.
func (s *Scenario) demand() (*fleet.Demand, error) {
	f := &s.Fleet
	mix, err := s.Mix()
	if err != nil {
		return nil, err
	}

	pod := s.Pods.Pod()
	d := &fleet.Demand{
		Seed: s.Seed, Pod: pod, Mix: mix, PerDay: f.JobsADay * float64(s.Pods.Pods),
		Until: fleet.Time(f.Days) * fleet.Day,
		Chips: s.Pods.Pods * pod.Chips(), Load: f.Load,

		Durations: fleet.Form(f.Durations), Sigma: f.Sigma, SizeExponent: f.SizeExponent,
		Bands: [fleet.NumBands]float64{f.ProdShare, f.BatchShare, max(0, 1-f.ProdShare-f.BatchShare)},

		FaultRoutingShare: f.OptInShare, EstimateFactor: f.EstimateFactor,
		Traffic: fleet.Traffic{AllToAll: f.AllToAllShare, Neighbours: f.NeighbourShare},
	}

	if f.Arrivals == "fig13" {
		for _, n := range fleet.Fig13() {
			d.ByDay = append(d.ByDay, n*s.Pods.Pods)
		}
	}

	return d, d.Check()
}

// Config returns the input of the simulation. It fails if keys contradict each
// other or a file cannot be used.
func (s *Scenario) Config() (*Config, error) {
	rates, err := s.FailureRates()
	if err != nil {
		return nil, err
	}

	d, err := s.demand()
	if err != nil {
		return nil, err
	}
	jobs, logNote := d.Jobs, ""
	if s.Fleet.Arrivals == "log" {
		data, err := s.Read(s.Log.File)
		if err != nil {
			return nil, err
		}

		log, err := d.ReadJobs(s.Log.Format, s.Log.File, data)
		if err != nil {
			return nil, err
		}
		jobs = func() fleet.Source { return &fleet.List{Jobs: log.Jobs} }
		logNote = log.Words()
	}

	// Convert the units of keys, and collect the settings of all groups.
	p, t := &s.Policy, &s.Policy.Times
	return &Config{
		Queue: p.Queue, FaultPolicy: p.Fault,
		Seed: s.Seed, Pods: s.Pods.Pods, Pod: d.Pod, MeasuredCubes: s.Fleet.MeasuredCubes,
		Jobs: jobs, LogNote: logNote, Rates: rates,
		Start: fleet.Time(s.Fleet.WarmUp) * fleet.Day,
		End:   fleet.Time(s.Fleet.Days) * fleet.Day,
		Times: Times{
			Detect: fleetTime(t.Detect), Poll: fleetTime(t.Poll), Switch: fleetTime(t.Switch),
			LinkTraining: fleetTime(t.Connect), Preflight: fleetTime(t.Preflight),
			Session: fleetTime(t.Session), Checkpoint: fleetTime(t.Checkpoint),
			Interval: fleetTime(t.Interval), Standby: fleetTime(t.Standby),
			Notice: fleetTime(p.Queue.Notice),
		},

		MinPreemptionGap: fleetTime(p.Queue.PreemptionGap),
		CampaignStart:    fleet.Time(s.Faults.Campaign) * fleet.Day,
		SilentShare:      s.Faults.SilentShare, MissedShare: s.Faults.MissedShare,
		RouteSlowdown: s.slowdownFunc(), ShapeSlowdown: s.shapeSlowdown,
	}, nil
}

// fleetSystem compares placements of a fleet. It implements assembly.System.
type fleetSystem struct {
	firstSeed    uint64
	replications []*replication // simulations with different seeds, in the order of the seeds
}

// A replication is the fleet with one seed.
type replication struct {
	config       *Config
	goodputBound float64 // upper bound on the goodput of all placements
	spares       int     // spare cubes per pod by the newsvendor model
}

// New returns the system of a checked scenario. If record is true, simulations with the first
// seed store their events for files and figures, unless the fleet has too many jobs.
func New(ctx context.Context, s *Scenario, record bool) (assembly.System, error) {
	y := &fleetSystem{firstSeed: s.Seed}
	for k := range s.Fleet.Seeds {
		one := *s
		one.Seed += uint64(k)
		c, err := one.Config()
		if err != nil {
			return nil, err
		}
		const maxRecordedJobs = 1e6 // their events take half a gigabyte
		jobs, _ := s.EstimateEvents(c.Rates)
		c.Record = record && k == 0 && jobs <= maxRecordedJobs
		bound, err := goodputBound(ctx, c)
		if err != nil {
			return nil, err
		}
		y.replications = append(y.replications, &replication{c, bound, newsvendorSpares(c)})
	}
	return y, nil
}

// Reference returns no metrics, because there is no ideal fleet. It implements
// assembly.System.
func (*fleetSystem) Reference() map[string]float64 { return map[string]float64{} }

// Begin adds the note about a log of jobs to the title. It implements
// assembly.System.
func (y *fleetSystem) Begin(_ context.Context, o *assembly.Outcome) error {
	if note := y.replications[0].config.LogNote; note != "" {
		o.Detail.Title += "; of the log: " + note
	}
	return nil
}

// Decide simulates the fleet under a placement, with all seeds. It implements assembly.System.
func (y *fleetSystem) Decide(
	ctx context.Context, policy string, workers int, _ float64,
) (*assembly.PolicyResult, error) {
	begin := time.Now()
	table := placement.Table()
	k := slices.IndexFunc(table, func(row placement.Row) bool { return row.Name == policy })
	if k < 0 {
		return nil, fmt.Errorf("fleet: no placement %q", policy)
	}

	// Simulate the replications.
	n := len(y.replications)
	outcomes := make([]*Outcome, n)
	errs := make([]error, n)
	parts := engine.SplitProgress(ctx, n)
	if err := parallel.Do(ctx, max(1, workers), n, func(i int) {
		outcomes[i], errs[i] = Simulate(parts[i], y.replications[i].config, table[k].New())
	}); err != nil {
		return nil, err
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	// The row has the means.
	rows := make([]result.Row, n)
	for i, r := range y.replications {
		rows[i] = r.newRow(policy, outcomes[i])
	}
	a := &assembly.PolicyResult{
		Row:     meanRow(rows, y.firstSeed),
		Timings: result.PolicyTimings{SimulateS: time.Since(begin).Seconds()},
	}
	a.Describe = func(_ context.Context, out *assembly.Outcome) {
		y.replications[0].config.describe(policy, outcomes[0].recorder, out)
	}
	return a, nil
}

// meanRow returns the row of a placement over several seeds: the means of the metrics that all
// rows have, and the standard errors of the means. A label is of the first seed that has it.
func meanRow(rows []result.Row, firstSeed uint64) result.Row {
	if len(rows) == 1 {
		return rows[0]
	}
	mean := result.Row{Policy: rows[0].Policy, Metrics: map[string]float64{}, Labels: map[string]string{}}
	values := map[string][]float64{}
	for i, r := range rows {
		for name, v := range r.Metrics {
			values[name] = append(values[name], v)
		}
		for name, label := range r.Labels {
			if _, has := mean.Labels[name]; !has {
				mean.Labels[name] = fmt.Sprintf("with seed %d, %s", firstSeed+uint64(i), label)
			}
		}
	}

	noWeights := []float64(nil)
	for name, v := range values {
		if len(v) == len(rows) {
			m, deviation := stat.MeanStdDev(v, noWeights)
			mean.Metrics[name] = m
			mean.Metrics[result.StandardErrorPrefix+name] = stat.StdErr(deviation, float64(len(v)))
		}
	}
	return mean
}

// describe adds the files of jobs and events under a placement, and the data of
// the figure of cubes.
func (c *Config) describe(policy string, r *recorder, o *assembly.Outcome) {
	if r == nil {
		return
	}
	o.Files = append(o.Files, r.files(policy)...)
	from, until := c.Start, min(c.End, c.Start+shownDays*fleet.Day)
	o.Detail.Policies = append(o.Detail.Policies, result.Simulation{
		Policy: policy,
		Fleet: &result.Fleet{
			FromS: from.Seconds(), UntilS: until.Seconds(),
			Cubes: r.cubeTracks(c), FreeSamples: r.freeSamples, Events: r.shownEvents(c),
		},
	})
}

// newRow returns the row of a placement with the metrics of its outcome.
func (r *replication) newRow(policy string, o *Outcome) result.Row {
	m := map[string]float64{
		"utilisation": o.Utilisation(), "goodput": o.Share(Work),
		"bound_goodput": r.goodputBound,
		"efficiency":    o.Efficiency(), "expected_efficiency": o.ExpectedEfficiency,
		"work_done": o.RequestedWork / (float64(o.Chips) * float64(o.Span)),

		"xconnects_per_day":        float64(o.Links) / o.Span.Days(),
		"xconnect_changes_per_day": float64(o.Connections) / o.Span.Days(),

		"turnaround_mean_s": o.Turnaround, "bound_turnaround_s": o.BoundTurnaround,
		"slices_fit": o.SlicesFit, "bound_slices_fit": o.MaxSlicesFit,
		"system_availability": o.TolerableShare,
	}

	// Add the counts of jobs and of their interruptions.
	for name, n := range map[string]int{
		"jobs": o.Submitted, "jobs_done": o.Ended, "jobs_refused": o.Rejected,
		"interrupts": o.Interrupts, "evictions": o.Evictions,
		"preflight_failures": o.PreflightFailures, "takeovers": o.Takeovers,
		"preemptions": o.Preemptions, "migrations": o.Migrations,
		"spares_newsvendor": r.spares,
	} {
		m[name] = float64(n)
	}

	// Add the shares of chip-time, except for work, whose share is the goodput.
	for u := range NumUses {
		if u != Work {
			m["share_"+u.String()] = o.Share(u)
		}
	}

	// Add the gaps to the bounds, and the goodput of the chips that are up.
	if down := o.Share(Down) + o.Share(Maintenance); down < 1 {
		m["goodput_of_healthy"] = o.Share(Work) / (1 - down)
	}
	if o.Share(Work) > 0 {
		m["gap"] = r.goodputBound/o.Share(Work) - 1
	}
	if o.BoundTurnaround > 0 {
		m["gap_turnaround"] = o.Turnaround/o.BoundTurnaround - 1
	}

	o.availability.addMetrics(r.config, o.rewires, m)

	for kind, name := range partNames {
		m[name+"_failures"] = float64(o.Failures[kind])
		m[name+"_repairs"] = float64(o.Repairs[kind])
	}

	if o.Submitted > 0 {
		m["interrupted_share"] = float64(o.Interrupted) / float64(o.Submitted)
	}
	if o.MeanRunning > 0 {
		m["ft_share"] = o.MeanRerouted / o.MeanRunning
	}

	// Waiting times: the mean and quantiles. Waits are sorted.
	if n := len(o.Waits); n > 0 {
		sum := 0.0
		for _, w := range o.Waits {
			sum += w.Seconds()
		}
		m["queue_mean_s"] = sum / float64(n)
		quantiles := map[string]float64{
			"queue_p50_s": 0.5, "queue_p90_s": 0.9, "queue_p99_s": 0.99,
		}
		for name, q := range quantiles {
			index := min(n-1, int(math.Ceil(q*float64(n)))-1)
			m[name] = o.Waits[index].Seconds()
		}
	}

	var batches []float64
	for _, work := range o.BatchWork {
		batches = append(batches, work*numBatches/(float64(o.Chips)*float64(o.Span)))
	}
	labels := map[string]string{}
	if first := &o.FirstRejected; o.Rejected > 0 {
		reserve := ""
		if n := r.config.Reserve; n > 0 {
			reserve = fmt.Sprintf(" and leave its reserve of %s free", text.Plural(n, "cube"))
		}
		labels["jobs_refused"] = fmt.Sprintf(
			"%s can never start; the first is number %d of %v, which does not fit an empty pod%s",
			text.Plural(o.Rejected, "job"), first.Number, first.Shape, reserve)
	}
	return result.Row{Policy: policy, Metrics: m, Labels: labels, BatchMeans: batches}
}

// partNames are the names of the kinds of parts in metrics.
var partNames = map[fleet.Part]string{
	fleet.Machine: "machine", fleet.Cable: "link", fleet.Switch: "ocs",
}
