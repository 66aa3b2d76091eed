package packet

import (
	"math"
	"math/bits"

	"sim/engine"
)

// Delay collects packet delays: their exact sum and range, and a histogram. The width of
// a class is at most 1/classesPerOctave of its values.
type Delay struct {
	Count           int64
	Min, Max        engine.Time
	sumHigh, sumLow uint64  // 128-bit sum of all delays in ticks
	classes         []int64 // packets, indexed by delayClass
}

// classesPerOctave is the number of classes between a power of two and the next one. With
// 128, quantiles are exact to 0.8 %, and the histogram of a run has some thousand classes.
const classesPerOctave = 128

// delayClass returns the class of a delay. Below 2*classesPerOctave, each value has its
// own class. Larger values have classes that are a power of two wide: shift removes the
// lowest bits, so that a number from classesPerOctave to 2*classesPerOctave-1 remains.
func delayClass(d engine.Time) int {
	shift := bits.Len64(uint64(d)) - bits.Len64(classesPerOctave)
	if shift <= 0 {
		return int(d)
	}
	return shift*classesPerOctave + int(uint64(d)>>shift)
}

// classFloor returns the smallest delay of a class.
func classFloor(class int) engine.Time {
	if class < 2*classesPerOctave {
		return engine.Time(class)
	}
	shift := class/classesPerOctave - 1
	return engine.Time(class-shift*classesPerOctave) << shift
}

// add adds one delay.
func (d *Delay) add(t engine.Time) {
	if d.Count == 0 || t < d.Min {
		d.Min = t
	}
	d.Max = max(d.Max, t)
	d.Count++

	var carry uint64
	d.sumLow, carry = bits.Add64(d.sumLow, uint64(t), 0)
	d.sumHigh += carry

	c := delayClass(t)
	if c >= len(d.classes) {
		d.classes = append(d.classes, make([]int64, c+1-len(d.classes))...)
	}
	d.classes[c]++
}

// merge adds the delays of another worker of the same run.
func (d *Delay) merge(o *Delay) {
	if o.Count == 0 {
		return
	}
	if d.Count == 0 || o.Min < d.Min {
		d.Min = o.Min
	}
	d.Max = max(d.Max, o.Max)
	d.Count += o.Count

	var carry uint64
	d.sumLow, carry = bits.Add64(d.sumLow, o.sumLow, 0)
	d.sumHigh += o.sumHigh + carry

	if added := len(o.classes) - len(d.classes); added > 0 {
		d.classes = append(d.classes, make([]int64, added)...)
	}
	for c, n := range o.classes {
		d.classes[c] += n
	}
}

// MeanSeconds returns the mean delay in seconds, or NaN without delays.
func (d *Delay) MeanSeconds() float64 {
	sum := math.Ldexp(float64(d.sumHigh), 64) + float64(d.sumLow)
	return sum / float64(d.Count) / float64(engine.Second)
}

// Quantile returns a delay that at least the fraction q of the packets does not exceed.
// It is at most 1/128 above the smallest such delay, and 0 without delays.
func (d *Delay) Quantile(q float64) engine.Time {
	rank := int64(math.Ceil(q * float64(d.Count)))
	count := int64(0)
	for c, n := range d.classes {
		if count += n; n > 0 && count >= rank {
			return max(d.Min, min(d.Max, classFloor(c+1)-1))
		}
	}
	return d.Max
}

// Histogram calls visit for every non-empty class in ascending order, with its range
// [from, to) and its number of packets.
func (d *Delay) Histogram(visit func(from, to engine.Time, packets int64)) {
	for c, n := range d.classes {
		if n > 0 {
			visit(classFloor(c), classFloor(c+1), n)
		}
	}
}
