// Package fleet describes what a fleet of TPU pods is asked to do and what befalls it over months: jobs that want
// slices, with their arrivals, durations and priorities; and failures and repairs of machines, links and optical
// switches (Zu et al., "Resiliency at Scale: Managing Google's TPUv4 Machine Learning Supercomputer", NSDI 24; "the
// paper"). It reads logs of jobs and of faults that others have published, and holds the closed forms that a simulation
// is tested against.
//
// Which cubes a job gets, what is done when something fails, and the simulation are others': this package knows neither
// pods nor policies.
package fleet

import (
	"math/rand/v2"
	"time"
)

// Time is a point in a fleet's time, or a span of it, in milliseconds: the ticks of its event queue.
type Time int64

// Spans of time.
const (
	Millisecond Time = 1
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
	Day              = 24 * Hour
	Week             = 7 * Day

	// MaxTime bounds what may be asked for: a thousand years.
	MaxTime = 365_250 * Day
)

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Days returns t in days.
func (t Time) Days() float64 { return float64(t) / float64(Day) }

// String formats t as time.Duration does.
func (t Time) String() string { return (time.Duration(t) * time.Millisecond).String() }

// FromSeconds returns the tick nearest to s seconds, at most Longest and at least 0.
func FromSeconds(s float64) Time {
	if !(s > 0) {
		return 0
	}
	return Time(min(s*float64(Second)+0.5, float64(MaxTime)))
}

// Kinds of random streams. What draws from one of its own sees the same numbers whatever else is drawn, so that policies
// are compared under the same jobs and the same faults (common random numbers).
const (
	streamArrivals uint64 = iota + 1
	streamShapes
	streamDurations
	streamBands
	streamRouting
	streamEstimates
	streamComponents
	streamTraffic
	// FirstFreeStream and above are for those who simulate.
	FirstFreeStream
)

// RandomStream returns a random stream of a run by its kind and a number in it.
func RandomStream(seed, kind, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, mix(kind<<48^number)))
}

// mix scrambles a number (the finaliser of SplitMix64, by Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
