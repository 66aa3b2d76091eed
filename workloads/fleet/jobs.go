package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Band is a priority: jobs of a lower number come first.
type Band int8

// Bands of priority (Verma et al., "Large-scale cluster management at Google with Borg", EuroSys 15, Sec. 2.5, has
// more).
const (
	Prod Band = iota
	Batch
	Free
	NumBands
)

// String returns the name of a band.
func (b Band) String() string { return [...]string{"prod", "batch", "free"}[b] }

// Job is what a user asks for.
type Job struct {
	Number              int // in the order of submission, from 0
	Submit              Time
	Shape               Shape
	Work                Time // how long it runs if nothing slows or interrupts it
	Estimate            Time // how long its user says that it will
	Band                Band
	AcceptsFaultRouting bool // it would rather run on routes round a fault than wait (opted in to fault-tolerant routing)
	Traffic             Traffic
}

// Traffic is what share of a job's step, with all links up, waits for traffic among all chips and between neighbours.
type Traffic struct{ AllToAll, Neighbours float64 }

// Source yields jobs in the order of submission.
type Source interface {
	// Next returns the next job, and false when there are no more.
	Next() (Job, bool)
}

// fig13 are the jobs admitted on each of 60 days, as read off the paper's Fig. 13.
var fig13 = [...]int{
	103, 99, 143, 176, 102, 129, 120, 96, 118, 99, 88, 239, 180, 172, 102, 195, 258, 163, 149, 205,
	88, 91, 125, 142, 125, 189, 164, 180, 182, 115, 155, 145, 210, 186, 100, 162, 135, 233, 144, 97,
	97, 69, 67, 118, 161, 163, 183, 175, 77, 51, 103, 208, 109, 130, 110, 54, 81, 127, 196, 168,
}

// Fig13 returns the jobs admitted on each of the 60 days of the paper's Fig. 13.
func Fig13() []int { return slices.Clone(fig13[:]) }

// Demand describes jobs to be drawn. Each of its draws has a stream of its own.
type Demand struct {
	Seed   uint64
	Mix    Mix
	ByDay  []int   // jobs of each day, again from the first after the last, at random moments of it; nil is a Poisson process
	PerDay float64 // jobs a day where ByDay is nil
	Until  Time    // none is submitted then or later
	Chips  int     // of the fleet
	Load   float64 // chip-time asked for over that of the fleet, which sets the mean duration

	Durations    Form
	Sigma        float64 // of the logarithm of lognormal durations
	SizeExponent float64 // durations grow with so much a power of the chips; 0 is not at all

	Bands             [NumBands]float64 // how often each is drawn, in any unit
	FaultRoutingShare float64           // share of jobs that opt in to routes round a fault
	EstimateFactor    float64           // estimates are drawn evenly, on a logarithmic scale, within this factor of the truth; 1 is exact
	// Traffic is the mean of jobs' shares, at most a half in all; each job's are so many times it, drawn evenly from 0
	// to 2.
	Traffic Traffic
}

// Check fails on what cannot be drawn from.
func (d *Demand) Check() error {
	if err := d.Mix.Check(); err != nil {
		return err
	}
	bands := 0.0
	for _, b := range d.Bands {
		bands += b
	}
	days := 0
	for _, n := range d.ByDay {
		days += n
	}
	switch {
	case d.ByDay == nil && !(d.PerDay > 0 && d.PerDay <= 1e7):
		return fmt.Errorf("fleet: %g jobs a day; want more than 0, at most 1e7", d.PerDay)
	case d.ByDay != nil && days == 0:
		return fmt.Errorf("fleet: no job on any of %d days", len(d.ByDay))
	case d.Chips < 1:
		return fmt.Errorf("fleet: a fleet of %d chips", d.Chips)
	case !(d.Load > 0 && d.Load <= 100):
		return fmt.Errorf("fleet: a load of %g; want more than 0, at most 100", d.Load)
	case !(bands > 0):
		return fmt.Errorf("fleet: no band of priority is ever drawn")
	case !(d.FaultRoutingShare >= 0 && d.FaultRoutingShare <= 1):
		return fmt.Errorf("fleet: a share of %g opts in to routes round a fault; want 0 to 1",
			d.FaultRoutingShare)
	case !(d.EstimateFactor >= 1):
		return fmt.Errorf("fleet: estimates within a factor of %g; want 1 or more", d.EstimateFactor)
	case !(d.Traffic.AllToAll >= 0 && d.Traffic.Neighbours >= 0 &&
		d.Traffic.AllToAll+d.Traffic.Neighbours <= 0.5):
		return fmt.Errorf("fleet: mean shares of %g and %g of a step wait for traffic; want 0 or more, and a half at most in all", d.Traffic.AllToAll, d.Traffic.Neighbours)
	}
	return nil
}

// MeanPerDay returns the jobs of a mean day.
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

// MeanWork returns the mean duration of a job of a slice: what makes the chip-time asked for the fleet's times the load.
func (d *Demand) MeanWork(s Shape) Time {
	return FromSeconds(d.unitDays() * d.sizeFactor(s) * Day.Seconds())
}

// sizeFactor returns how durations grow with slices, and unit the mean duration in days of a slice of 1.
func (d *Demand) sizeFactor(s Shape) float64 { return math.Pow(float64(s.Chips()), d.SizeExponent) }
func (d *Demand) unitDays() float64 {
	perJob := d.Mix.Mean(func(s Shape) float64 { return float64(s.Chips()) * d.sizeFactor(s) })
	return d.Load * float64(d.Chips) / (d.MeanPerDay() * perJob)
}

// Jobs returns a source of the jobs of a demand that passed Check.
func (d *Demand) Jobs() Source {
	return &jobGenerator{
		Demand: d, slices: newMixSampler(d.Mix), unitDays: d.unitDays(),
		arrivals: RandomStream(d.Seed, streamArrivals, 0),
		shapes:   RandomStream(d.Seed, streamShapes, 0), works: RandomStream(d.Seed, streamDurations, 0),
		bands:  RandomStream(d.Seed, streamBands, 0),
		routes: RandomStream(d.Seed, streamRouting, 0), estimates: RandomStream(d.Seed, streamEstimates, 0),
		traffic: RandomStream(d.Seed, streamTraffic, 0),
	}
}

type jobGenerator struct {
	*Demand
	slices   *mixSampler
	unitDays float64 // see unit

	arrivals, shapes, works, bands, routes, estimates, traffic *rand.Rand

	number int
	now    Time   // of the last arrival of a Poisson process
	day    int    // the next one to be drawn
	today  []Time // arrivals that are left
}

func (d *jobGenerator) Next() (Job, bool) {
	at := d.arrival()
	if at >= d.Until {
		return Job{}, false
	}
	j := Job{Number: d.number, Submit: at, Shape: d.slices.sample(d.shapes)}
	d.number++
	j.Work = Spread{d.Durations, FromSeconds(d.unitDays * d.sizeFactor(j.Shape) * Day.Seconds()),
		d.Sigma}.Draw(d.works)
	d.drawRest(&j)
	return j, true
}

// drawRest draws what a job has beside its slice and its work.
func (d *jobGenerator) drawRest(j *Job) {
	x := d.bands.Float64() * (d.Bands[Prod] + d.Bands[Batch] + d.Bands[Free])
	for j.Band = Prod; j.Band < Free && x >= d.Bands[j.Band]; j.Band++ {
		x -= d.Bands[j.Band]
	}
	j.AcceptsFaultRouting = d.routes.Float64() < d.FaultRoutingShare
	guess := math.Pow(d.EstimateFactor, 2*d.estimates.Float64()-1)
	if j.Estimate = j.Work; d.EstimateFactor != 1 {
		j.Estimate = FromSeconds(j.Work.Seconds() * guess)
	}
	x = 2 * d.traffic.Float64()
	j.Traffic = Traffic{x * d.Traffic.AllToAll, x * d.Traffic.Neighbours}
}

func (d *jobGenerator) arrival() Time {
	if d.ByDay == nil {
		d.now += drawGap(d.arrivals, d.PerDay, 1)
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
	at := d.today[0]
	d.today = d.today[1:]
	return at
}

// List is a source of jobs that are known, in the order of submission.
type List struct {
	Jobs []Job
	next int
}

// Next returns the next job.
func (l *List) Next() (Job, bool) {
	if l.next == len(l.Jobs) {
		return Job{}, false
	}
	l.next++
	return l.Jobs[l.next-1], true
}
