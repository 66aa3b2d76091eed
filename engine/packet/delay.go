package packet

import (
	"math"
	"math/bits"

	"sim/engine"
)

// Delay gathers delays: their exact sum and range, and a histogram of classes that are no wider than 1/128 of their
// values.
type Delay struct {
	Count           int64
	Min, Max        engine.Time
	sumHigh, sumLow uint64 // the sum
	classes         []int64
}

// classesPerOctave is the number of classes between a power of two and the next.
const classesPerOctave = 128

// delayClass returns the class of a delay: below 2*fine each value has its own.
func delayClass(d engine.Time) int {
	shift := bits.Len64(uint64(d)) - bits.Len64(classesPerOctave)
	if shift <= 0 {
		return int(d)
	}
	return shift*classesPerOctave + int(uint64(d)>>shift)
}

// classFloor returns the least delay of a class.
func classFloor(class int) engine.Time {
	if class < 2*classesPerOctave {
		return engine.Time(class)
	}
	shift := class/classesPerOctave - 1
	return engine.Time(class-shift*classesPerOctave) << shift
}

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

// merge adds the delays of another part of the run.
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

// MeanSeconds returns the mean in seconds, NaN of none.
func (d *Delay) MeanSeconds() float64 {
	sum := math.Ldexp(float64(d.sumHigh), 64) + float64(d.sumLow)
	return sum / float64(d.Count) / float64(engine.Second)
}

// Quantile returns a delay that a share q of the packets does not exceed: at most 1/128 above the least such. 0 of
// none.
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

// Histogram calls do with the range [from, to) and the number of every class that is not empty, in order.
func (d *Delay) Histogram(visit func(from, to engine.Time, packets int64)) {
	for c, n := range d.classes {
		if n > 0 {
			visit(classFloor(c), classFloor(c+1), n)
		}
	}
}
