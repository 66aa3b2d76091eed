// This file declares what detail.json holds of a fleet of pods over months.

package result

import "slices"

// Fleet is the part of a fleet's simulation under one placement that figures show. It
// describes the first pod of the fleet.
type Fleet struct {
	// FromS and UntilS are the start and the end of the time that Cubes covers, in seconds.
	FromS       float64      `json:"from_s"`
	UntilS      float64      `json:"until_s"`
	Cubes       []Track      `json:"cubes"` // one track per cube, with a span for each job on it
	FreeSamples []FreeSample `json:"looks"` // samples of the free cubes, sorted by time
	// Events are the failures and repairs of parts of the pod and their effects on jobs,
	// sorted by time.
	Events []FleetEvent `json:"events,omitempty"`
}

// FleetEvent is an event of a part or of a job.
type FleetEvent struct {
	AtS    float64 `json:"at_s"`
	Part   string  `json:"part"`   // "machine", "link", "ocs", "job" ...
	Number int     `json:"number"` // number of the part in its pod, or of the job
	What   string  `json:"what"`   // "failed", "repaired" ...
}

// FreeSample is the number of free cubes of a pod at one time, and the number of cubes of
// the largest slice that fits.
type FreeSample struct {
	AtS     float64 `json:"at_s"`
	Free    int     `json:"free"`
	Largest int     `json:"largest"`
}

// Gain is the effect of a change of a scenario on a metric that is a share. Both scenarios
// are simulated for several seeds.
type Gain struct {
	Change string  // description of the change
	Mean   float64 // mean over seeds of the difference to the unchanged scenario with the same seed
	SE     float64 // standard error of Mean, over seeds, or over parts of the time for one seed
	Failed string  // reason why the change was not simulated; "" if it was
}

// CubesAt returns the tracks of the cubes, reduced to the jobs running at a time in
// seconds.
func (f *Fleet) CubesAt(at float64) []Track {
	cubes := slices.Clone(f.Cubes)
	for i := range cubes {
		isNotRunning := func(s Span) bool { return at < s.StartS || s.EndS <= at }
		cubes[i].Spans = slices.DeleteFunc(slices.Clone(cubes[i].Spans), isNotRunning)
	}
	return cubes
}

// WorstFragmentation returns the sample with the largest number of free cubes outside the
// largest slice that fits, and its policy. policy is "" if free cubes always form one
// slice.
func (d *Detail) WorstFragmentation() (policy string, worst FreeSample) {
	for i := range d.Policies {
		f := d.Policies[i].Fleet
		if f == nil {
			continue
		}
		for _, sample := range f.FreeSamples {
			if sample.Free-sample.Largest > worst.Free-worst.Largest {
				policy, worst = d.Policies[i].Policy, sample
			}
		}
	}
	return policy, worst
}
