package plots

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// scale maps values to an axis. Logarithmic axes place log10 of a value.
type scale struct {
	log    bool
	lo, hi float64 // placed
	unit   unit
	named  bool // ticks of a logarithmic axis have units of their own
	ticks  []plot.Tick
}

// place is where on the axis a value stands.
func (s *scale) place(v float64) float64 {
	if s.log {
		return math.Log10(v)
	}
	return v
}

// onto returns the map from values to lengths between from and to.
func (s *scale) onto(from, to vg.Length) func(v float64) vg.Length {
	return func(v float64) vg.Length {
		return from + (to-from)*vg.Length((s.place(v)-s.lo)/(s.hi-s.lo))
	}
}

// values returns the scale that shows values within [lo, hi] of q. From is the
// value that it begins at, unless values lie below; nil leaves that open, bars
// begin at q's base.
func values(q quantity, lo, hi float64, from *float64, log, bars bool) *scale {
	s := &scale{log: log, unit: q.unit, named: q.named}
	if log {
		if from != nil {
			lo = min(lo, *from)
		}
		s.lo, s.hi = logRange(lo, hi)
		if from != nil && *from <= lo {
			s.lo = math.Log10(*from)
		}
		return s
	}
	base := q.base
	if from != nil {
		base = *from
	}
	const near = 0.6 // of what lies above the base
	if from != nil || bars || lo >= base && lo-base <= near*(hi-base) {
		lo, hi = min(lo, base), max(hi, base)
	}
	room := hi - lo
	if least := 1e-9 * max(math.Abs(lo), math.Abs(hi)); room <= least { // all alike
		room = max(math.Abs(hi)*0.1, 1e-9)
		if hi == 0 {
			room = 1
		}
	}
	const margin = 0.06
	s.lo, s.hi = lo, hi+margin*room
	switch {
	case lo != base:
		s.lo -= margin * room
	case from == nil && !bars: // what lies on the base is seen beside the axis
		s.lo -= margin / 2 * room
	}
	return s
}

// logRange widens [lo, hi] to powers of ten, or to 2 or 5 of them where that
// is nearer.
func logRange(lo, hi float64) (float64, float64) {
	const room = 0.04 // of a decade, for what is drawn round a value
	down, up := math.Log10(lo)-room, math.Log10(hi)+room
	steps := []float64{0, math.Log10(2), math.Log10(5), 1}
	a, b := math.Floor(down), math.Floor(up)
	from, to := a, b+1
	for _, s := range steps {
		if a+s <= down {
			from = a + s
		}
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if b+steps[i] >= up {
			to = b + steps[i]
		}
	}
	return from, to
}

// mark sets about count ticks.
func (s *scale) mark(count int) {
	if !s.log {
		s.ticks = ticker{unit: s.unit, count: count}.Ticks(s.lo, s.hi)
		if len(s.ticks) < 2 { // too narrow for its distance from 0
			s.ticks = []plot.Tick{{Value: s.lo, Label: digits(s.lo*s.unit.per, 6)}, {Value: s.hi, Label: digits(s.hi*s.unit.per, 6)}}
		}
		return
	}
	const eps, widest = 1e-9, 700 // decades, more than numbers have
	s.ticks = nil
	span := s.hi - s.lo
	if !(span < widest) {
		return
	}
	stride := max(1, int(math.Ceil(span/float64(max(1, count)))))
	for d := int(math.Floor(s.lo)); float64(d) <= s.hi+eps; d++ {
		for m := 1; m < 10; m++ {
			at := float64(d) + math.Log10(float64(m))
			if at < s.lo-eps || at > s.hi+eps {
				continue
			}
			t := plot.Tick{Value: min(max(at, s.lo), s.hi)}
			switch {
			case m == 1 && d%stride == 0,
				span <= 3 && (m == 2 || m == 5),
				span <= 0.8 && m != 9 && m != 7:
				t.Label = s.power(m, d)
			}
			if t.Label != "" || stride == 1 && span <= 6 || m == 1 {
				s.ticks = append(s.ticks, t)
			}
		}
	}
}

// power words m times ten to the d.
func (s *scale) power(m, d int) string {
	v := float64(m) * math.Pow(10, float64(d))
	if s.named {
		return strings.Replace(short(v*timeUnit(v).per), "+", "", 1) + " " + timeUnit(v).name
	}
	return short(v * s.unit.per)
}

// short words a round number.
func short(v float64) string {
	if a := math.Abs(v); a >= 1e5 || a < 1e-4 && a > 0 {
		text := strconv.FormatFloat(v, 'e', -1, 64)
		mantissa, exponent, _ := strings.Cut(text, "e")
		n, err := strconv.Atoi(exponent)
		if err != nil || len(mantissa) > 6 {
			return digits(v, 3)
		}
		return mantissa + "e" + strconv.Itoa(n)
	}
	return digits(v, 6)
}

// width is the room that the labels of s's ticks take.
func (s *scale) width() vg.Length {
	style := sans(tickSize, ink)
	w := vg.Length(0)
	for _, t := range s.ticks {
		w = max(w, style.Width(t.Label))
	}
	return w
}

// decimals is how many decimals tell values of q that span so much apart.
func decimals(q quantity, span float64, digits int) int {
	span = math.Abs(span) * q.unit.per
	if !(span > 0) {
		return digits
	}
	return min(max(digits-1-int(math.Floor(math.Log10(span))), 0), 6)
}

// number words a value of q with so many decimals.
func (q quantity) number(v float64, decimals int) string {
	v *= q.unit.per
	if math.Abs(v) >= 1e6 {
		return short(roundTo(v, 3))
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		const noise = 1e-6 // of the last decimal; what is greater is no 0
		if math.Abs(v) > noise*math.Pow(10, -float64(decimals)) {
			return short(roundTo(v, 2))
		}
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// roundTo rounds to n significant digits.
func roundTo(v float64, n int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// number reads a number as people write it.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err == nil && !(math.Abs(v) <= drawableLimit) {
		err = strconv.ErrRange
	}
	return v, err
}
