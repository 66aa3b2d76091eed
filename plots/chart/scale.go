package chart

import (
	"math"
	"strconv"
	"strings"

	"sim/plots/sheet"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// Scale maps values to an axis. Logarithmic axes place log10 of a value.
type Scale struct {
	Log    bool
	Lo, Hi float64 // placed
	Unit   sheet.Unit
	Named  bool // ticks of a logarithmic axis have units of their own
	Ticks  []plot.Tick
}

// place is where on the axis a value stands.
func (s *Scale) place(v float64) float64 {
	if s.Log {
		return math.Log10(v)
	}
	return v
}

// onto returns the map from values to lengths between from and to.
func (s *Scale) onto(from, to vg.Length) func(v float64) vg.Length {
	return func(v float64) vg.Length {
		return from + (to-from)*vg.Length((s.place(v)-s.Lo)/(s.Hi-s.Lo))
	}
}

// values returns the scale that shows values within [lo, hi] of q. From is the
// value that it begins at, unless values lie below; nil leaves that open, bars
// begin at q's base.
func values(q Quantity, lo, hi float64, from *float64, log, bars bool) *Scale {
	s := &Scale{Log: log, Unit: q.Unit, Named: q.named}
	if log {
		if from != nil {
			lo = min(lo, *from)
		}
		s.Lo, s.Hi = LogRange(lo, hi)
		if from != nil && *from <= lo {
			s.Lo = math.Log10(*from)
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
	s.Lo, s.Hi = lo, hi+margin*room
	switch {
	case lo != base:
		s.Lo -= margin * room
	case from == nil && !bars: // what lies on the base is seen beside the axis
		s.Lo -= margin / 2 * room
	}
	return s
}

// LogRange widens [lo, hi] to powers of ten, or to 2 or 5 of them where that
// is nearer.
func LogRange(lo, hi float64) (float64, float64) {
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

// Mark sets about count ticks.
func (s *Scale) Mark(count int) {
	if !s.Log {
		s.Ticks = sheet.Ticker{Unit: s.Unit, Count: count}.Ticks(s.Lo, s.Hi)
		if len(s.Ticks) < 2 { // too narrow for its distance from 0
			s.Ticks = []plot.Tick{{Value: s.Lo, Label: sheet.Digits(s.Lo*s.Unit.Per, 6)}, {Value: s.Hi, Label: sheet.Digits(s.Hi*s.Unit.Per, 6)}}
		}
		return
	}
	const eps, widest = 1e-9, 700 // decades, more than numbers have
	s.Ticks = nil
	span := s.Hi - s.Lo
	if !(span < widest) {
		return
	}
	stride := max(1, int(math.Ceil(span/float64(max(1, count)))))
	for d := int(math.Floor(s.Lo)); float64(d) <= s.Hi+eps; d++ {
		for m := 1; m < 10; m++ {
			at := float64(d) + math.Log10(float64(m))
			if at < s.Lo-eps || at > s.Hi+eps {
				continue
			}
			t := plot.Tick{Value: min(max(at, s.Lo), s.Hi)}
			switch {
			case m == 1 && d%stride == 0,
				span <= 3 && (m == 2 || m == 5),
				span <= 0.8 && m != 9 && m != 7:
				t.Label = s.power(m, d)
			}
			if t.Label != "" || stride == 1 && span <= 6 || m == 1 {
				s.Ticks = append(s.Ticks, t)
			}
		}
	}
}

// power words m times ten to the d.
func (s *Scale) power(m, d int) string {
	v := float64(m) * math.Pow(10, float64(d))
	if s.Named {
		return strings.Replace(sheet.Short(v*sheet.TimeUnit(v).Per), "+", "", 1) + " " + sheet.TimeUnit(v).Name
	}
	return sheet.Short(v * s.Unit.Per)
}

// width is the room that the labels of s's ticks take.
func (s *Scale) width() vg.Length {
	style := sheet.Sans(sheet.TickSize, sheet.Ink)
	w := vg.Length(0)
	for _, t := range s.Ticks {
		w = max(w, style.Width(t.Label))
	}
	return w
}

// decimals is how many decimals tell values of q that span so much apart.
func decimals(q Quantity, span float64, digits int) int {
	span = math.Abs(span) * q.Unit.Per
	if !(span > 0) {
		return digits
	}
	return min(max(digits-1-int(math.Floor(math.Log10(span))), 0), 6)
}

// number words a value of q with so many decimals.
func (q Quantity) number(v float64, decimals int) string {
	v *= q.Unit.Per
	if math.Abs(v) >= 1e6 {
		return sheet.Short(sheet.RoundTo(v, 3))
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		const noise = 1e-6 // of the last decimal; what is greater is no 0
		if math.Abs(v) > noise*math.Pow(10, -float64(decimals)) {
			return sheet.Short(sheet.RoundTo(v, 2))
		}
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// number reads a number as people write it.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err == nil && !(math.Abs(v) <= sheet.DrawableLimit) {
		err = strconv.ErrRange
	}
	return v, err
}
