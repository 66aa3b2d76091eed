// This file draws the jobs of a fleet: their arrivals, slices, durations and priorities.

package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sim/fabric/torus"
)

// Band is a priority of jobs, as in Borg. Jobs with a lower value come first.
type Band int8

// The bands of priority. Borg has more of them (Verma et al., "Large-scale cluster management
// at Google with Borg", EuroSys 15, Sec. 2.5).
const (
	Prod Band = iota
	Batch
	Free
	NumBands // number of bands
)

// String returns the name of a band.
func (b Band) String() string { return [...]string{"prod", "batch", "free"}[b] }

// Job is a request for a slice.
type Job struct {
	Number              int  // in the order of submission, from 0
	Submit              Time // time of submission
	Shape               Shape
	Work                Time // duration without slowdown and interruption
	Estimate            Time // estimate of Work by the user
	Band                Band
	AcceptsFaultRouting bool    // runs on a slice with a fault instead of waiting (fault-tolerant routing)
	Traffic             Traffic // communication of a step
}

// Traffic is the fraction of a job's step, with all links up, that waits for
// communication among all chips (AllToAll) and between neighbours (Neighbours).
type Traffic struct{ AllToAll, Neighbours float64 }

// Source returns jobs in the order of submission.
type Source interface {
	Next() (Job, bool) // Next returns the next job, or false after the last one.
}

// fig13 is the number of jobs admitted on each of 60 days, read off Fig. 13 of Zu et al.,
// "Resiliency at Scale: Managing Google's TPUv4 Machine Learning Supercomputer", NSDI 24.
var fig13 = [...]int{
	103, 99, 143, 176, 102, 129, 120, 96, 118, 99, 88, 239, 180, 172, 102, 195, 258, 163, 149, 205,
	88, 91, 125, 142, 125, 189, 164, 180, 182, 115, 155, 145, 210, 186, 100, 162, 135, 233, 144, 97,
	97, 69, 67, 118, 161, 163, 183, 175, 77, 51, 103, 208, 109, 130, 110, 54, 81, 127, 196, 168,
}

// Fig13 returns the number of jobs admitted on each of the 60 days of Fig. 13 of the TPU v4
// paper (Zu et al., NSDI 24).
func Fig13() []int { return slices.Clone(fig13[:]) }

// Demand describes random jobs. Each property is drawn from its own random stream.
type Demand struct {
	Seed uint64
	Pod  torus.Pod // each pod of the fleet
	Mix  Mix       // slices of the pod and their weights
	// ByDay is the number of jobs on each day, repeated after the last one. Jobs arrive
	// at uniformly random times of the day. If ByDay is nil, arrivals are a Poisson
	// process with rate PerDay.
	ByDay  []int
	PerDay float64 // jobs per day if ByDay is nil
	Until  Time    // end of submissions
	Chips  int     // chips of the fleet
	Load   float64 // requested chip-time over the fleet's; determines the mean duration

	Durations    Form    // form of the distribution of durations
	Sigma        float64 // of the logarithm of lognormal durations
	SizeExponent float64 // durations are proportional to chips^SizeExponent; 0 means independent

	Bands             [NumBands]float64 // relative frequency of each band
	FaultRoutingShare float64           // fraction of jobs with AcceptsFaultRouting
	// EstimateFactor is the maximum factor between the estimate and the true duration.
	// The logarithm of the factor is drawn uniformly. 1 means exact estimates.
	EstimateFactor float64
	// Traffic is the mean of Job.Traffic, at most 0.5 in total. Each job's is a multiple
	// of it, drawn uniformly from 0 to 2.
	Traffic Traffic
}

// Check fails on invalid values. It also rejects rates and loads that a simulation could
// not finish, such as a load of more than 100 fleets. The mean of Traffic is at most 0.5,
// because the traffic of a job can be twice the mean.
func (d *Demand) Check() error {
	if err := d.Mix.Check(&d.Pod); err != nil {
		return err
	}
	bands := 0.0
	for _, b := range d.Bands {
		bands += b
	}
	switch {
	case d.ByDay == nil && !(d.PerDay > 0 && d.PerDay <= 1e7):
		return fmt.Errorf("fleet: %g jobs a day; want more than 0, at most 1e7", d.PerDay)
	case d.ByDay != nil && !(d.MeanPerDay() > 0):
		return fmt.Errorf("fleet: no job on any of %d days", len(d.ByDay))
	case d.Chips < 1:
		return fmt.Errorf("fleet: a fleet of %d chips", d.Chips)
	case !(d.Load > 0 && d.Load <= 100):
		return fmt.Errorf("fleet: a load of %g; want more than 0, at most 100", d.Load)
	case !(bands > 0):
		return fmt.Errorf("fleet: no priority band has a weight above 0")
	case !(d.FaultRoutingShare >= 0 && d.FaultRoutingShare <= 1):
		return fmt.Errorf("fleet: a share of %g of the jobs accepts fault routing; want 0 to 1",
			d.FaultRoutingShare)
	case !(d.EstimateFactor >= 1):
		return fmt.Errorf("fleet: estimates within a factor of %g; want 1 or more", d.EstimateFactor)
	case !(d.Traffic.AllToAll >= 0 && d.Traffic.Neighbours >= 0 &&
		d.Traffic.AllToAll+d.Traffic.Neighbours <= 0.5):
		return fmt.Errorf("fleet: mean shares of %g and %g of a step wait for traffic; want 0 or more each, and at most 0.5 in total",
			d.Traffic.AllToAll, d.Traffic.Neighbours)
	}
	return nil
}

// MeanPerDay returns the mean number of jobs per day.
func (d *Demand) MeanPerDay() float64 {
	if d.ByDay == nil {
		return d.PerDay
	}
	sum := 0
	for _, n := range d.ByDay {
		sum += n
	}
	return float64(sum) / float64(len(d.ByDay))
}

// MeanWork returns the mean duration of a job with slice s. It makes the requested
// chip-time Load times the chip-time of the fleet.
func (d *Demand) MeanWork(s Shape) Time {
	return FromSeconds(d.unitDays() * d.sizeFactor(s) * Day.Seconds())
}

// sizeFactor returns the factor of durations that depends on the slice.
func (d *Demand) sizeFactor(s Shape) float64 { return math.Pow(float64(s.Chips()), d.SizeExponent) }

// unitDays returns the mean duration of a job with sizeFactor 1, in days.
func (d *Demand) unitDays() float64 {
	perJob := d.Mix.Mean(func(s Shape) float64 { return float64(s.Chips()) * d.sizeFactor(s) })
	return d.Load * float64(d.Chips) / (d.MeanPerDay() * perJob)
}

// Jobs returns a source of random jobs. The demand must have passed Check.
func (d *Demand) Jobs() Source {
	stream := func(kind uint64) *rand.Rand { return RandomStream(d.Seed, kind, 0) } // one stream per kind
	return &jobGenerator{
		Demand: d, slices: newMixSampler(d.Mix), unitDays: d.unitDays(),
		arrivals: stream(streamArrivals), shapes: stream(streamShapes), works: stream(streamDurations),
		bands: stream(streamBands), routes: stream(streamRouting), estimates: stream(streamEstimates),
		traffic: stream(streamTraffic),
	}
}

// jobGenerator draws the jobs of a demand.
type jobGenerator struct {
	*Demand  // rates, sizes and durations of the jobs
	slices   *mixSampler
	unitDays float64 // result of Demand.unitDays

	arrivals, shapes, works, bands, routes, estimates, traffic *rand.Rand

	number int    // number of the next job
	now    Time   // last arrival of the Poisson process
	day    int    // next day to be drawn, if arrivals are given by day
	today  []Time // remaining arrivals of the current day
}

// Next draws the next job.
func (d *jobGenerator) Next() (Job, bool) {
	submit := d.arrival()
	if submit >= d.Until {
		return Job{}, false
	}
	j := Job{Number: d.number, Submit: submit, Shape: d.slices.sample(d.shapes)}
	d.number++
	mean := FromSeconds(d.unitDays * d.sizeFactor(j.Shape) * Day.Seconds())
	j.Work = Spread{Form: d.Durations, Mean: mean, Sigma: d.Sigma}.Draw(d.works)
	d.drawRest(&j)
	return j, true
}

// drawRest draws the properties of a job other than its slice and its work.
func (d *jobGenerator) drawRest(j *Job) {
	// x is a point on the weights of the bands, laid end to end.
	x := d.bands.Float64() * (d.Bands[Prod] + d.Bands[Batch] + d.Bands[Free])
	for j.Band = Prod; j.Band < Free && x >= d.Bands[j.Band]; j.Band++ {
		x -= d.Bands[j.Band]
	}
	j.AcceptsFaultRouting = d.routes.Float64() < d.FaultRoutingShare

	// The error of the estimate is between 1/EstimateFactor and EstimateFactor. Exact
	// estimates are not rounded.
	factor := math.Pow(d.EstimateFactor, 2*d.estimates.Float64()-1)
	j.Estimate = j.Work
	if d.EstimateFactor != 1 {
		j.Estimate = FromSeconds(j.Work.Seconds() * factor)
	}

	scale := 2 * d.traffic.Float64()
	j.Traffic = Traffic{AllToAll: scale * d.Traffic.AllToAll, Neighbours: scale * d.Traffic.Neighbours}
}

// arrival draws the time of the next arrival. It returns at least Until after the last one.
func (d *jobGenerator) arrival() Time {
	if d.ByDay == nil {
		d.now += drawGap(d.arrivals, d.PerDay, exponentialShape)
		return d.now
	}
	for len(d.today) == 0 {
		begin := Time(d.day) * Day
		if begin >= d.Until {
			return d.Until
		}
		for range d.ByDay[d.day%len(d.ByDay)] {
			d.today = append(d.today, begin+Time(d.arrivals.Int64N(int64(Day))))
		}
		slices.Sort(d.today)
		d.day++
	}
	next := d.today[0]
	d.today = d.today[1:]
	return next
}

// List is a source of known jobs in the order of submission.
type List struct {
	Jobs []Job
	next int // index in Jobs
}

// Next returns the next job.
func (l *List) Next() (Job, bool) {
	if l.next == len(l.Jobs) {
		return Job{}, false
	}
	l.next++
	return l.Jobs[l.next-1], true
}
