// Package fleet describes the workload and the faults of a fleet of TPU pods over months.
// "The paper" is Zu et al., "Resiliency at Scale: Managing Google's TPUv4 Machine
// Learning Supercomputer", NSDI 24.
//
// Demand draws jobs: their arrivals, slices (Shape), durations and priorities. Rates
// describe the failures and repairs of machines, cables and optical switches, and
// Failures draws them for one part. Demand.ReadJobs and ReadFaults read published logs
// instead. closedform.go has the closed forms with which simulations are compared.
//
// The package makes no decisions and does not simulate: callers allocate cubes and react
// to failures.
//
// Start reading at Demand in jobs.go and Process in faults.go.
package fleet

import (
	"math/rand/v2"
	"sim/internal/random"
	"time"
)

// Time is a point in a fleet's time, or a duration, in milliseconds, the ticks of its
// event calendar.
type Time int64

// Durations.
const (
	Millisecond Time = 1
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
	Day              = 24 * Hour
	Week             = 7 * Day

	MaxTime = 365_250 * Day // MaxTime is the maximum of all times: a thousand years.
)

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Days returns t in days.
func (t Time) Days() float64 { return float64(t) / float64(Day) }

// String formats t like time.Duration.
func (t Time) String() string { return (time.Duration(t) * time.Millisecond).String() }

// FromSeconds returns the tick nearest to s seconds, between 0 and MaxTime.
func FromSeconds(s float64) Time {
	if !(s > 0) {
		return 0
	}
	return Time(min(s*float64(Second)+0.5, float64(MaxTime)))
}

// Kinds of random streams. Each consumer has its own stream, so its random numbers do not
// depend on other consumers. Policies are thus compared under the same jobs and the same
// faults (common random numbers).
const (
	streamArrivals uint64 = iota + 1
	streamShapes
	streamDurations
	streamBands
	streamRouting
	streamEstimates
	streamComponents
	streamTraffic
	FirstFreeStream // FirstFreeStream and above are available to callers.
)

// RandomStream returns the random stream of a run with the given kind and number. The kind
// occupies the upper 16 bits of the identifier that is mixed, and the number the others.
func RandomStream(seed, kind, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, random.Mix(kind<<48^number)))
}

// HashUniform returns a number in [0, 1) that depends only on the seed, kind and number,
// not on earlier draws. It uses the upper 53 bits of a hash, because a float64 has a
// mantissa of 53 bits.
func HashUniform(seed, kind, number uint64) float64 {
	return float64(random.Mix(random.Mix(seed^random.Mix(kind))^number)>>11) / (1 << 53)
}
