package plots

import (
	"image/color"
	"math"
	"slices"

	"sim/plots/sheet"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// intervals are a bar for each task.
type intervals struct {
	look   barLook
	text   string
	lo, hi []float64
}

// barLook is a colour and a thickness as a fraction of a row.
type barLook struct {
	color  color.Color
	height float64
}

func layerLegend(layers []intervals) []sheet.Entry {
	var out []sheet.Entry
	for _, l := range layers {
		out = append(out, sheet.Entry{Text: l.text, Sample: sheet.Box(sheet.Fill{Color: l.look.color, Height: vg.Length(l.look.height)})})
	}
	return out
}

// span is what the bars cover.
func span(layers []intervals) (lo, hi float64) {
	lo, hi = layers[0].lo[0], layers[0].hi[0]
	for _, l := range layers {
		lo, hi = min(lo, slices.Min(l.lo)), max(hi, slices.Max(l.hi))
	}
	if hi <= lo {
		hi = lo + 1
	}
	return lo, hi
}

// meanWidth is the mean width of a bar; one that ends before it starts has
// none.
func meanWidth(l intervals) float64 {
	sum := 0.0
	for i := range l.lo {
		sum += max(0, l.hi[i]-l.lo[i])
	}
	return sum / float64(len(l.lo))
}

// namedTasks is how many tasks can have their names beside the axis.
const namedTasks = 26

// nameRoom is the width of their names in points: of "PP of micro-batch 12 from
// stage 3 to stage 4", and a little.
const nameRoom = 215

// taskPlot is a plot of a row a task, the first on top, without its x axis.
func taskPlot(names []string, layers []intervals) *plot.Plot {
	n := len(names)
	p := sheet.NewPlot("", "")
	sheet.SetRange(&p.Y, -0.5, float64(n)-0.5)
	var at []float64
	var text []string
	if n <= namedTasks {
		p.Y.Tick.Length = 0
		p.Y.Tick.Label.Font = sheet.Sans(sheet.SmallSize, sheet.Ink).Font
		for i, s := range names {
			at, text = append(at, float64(n-1-i)), append(text, sheet.Fit(p.Y.Tick.Label, s, nameRoom))
		}
	} else {
		p.Y.Label.Text = "transfer, in order of earliest start"
		for _, t := range (sheet.Ticker{Unit: sheet.Unit{Name: "", Per: 1}, Count: 6, Whole: true}).Ticks(1, float64(n)) {
			at, text = append(at, float64(n)-t.Value), append(text, t.Label)
		}
	}
	p.Y.Tick.Marker = sheet.Marks(at, text)
	p.Add(sheet.Grid(false, true), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		for _, l := range layers {
			drawIntervals(c, x, y, l)
		}
	}))
	return p
}

// drawIntervals draws a layer. Where rows are finer than pixels, as many as
// share a pixel become one bar over all their intervals.
func drawIntervals(c draw.Canvas, x, y func(float64) vg.Length, l intervals) {
	n := len(l.lo)
	row := float64((c.Max.Y - c.Min.Y) / vg.Length(n))
	merged := max(1, int(math.Ceil(sheet.Pixel/row)))
	height := l.look.height
	if row < 4*sheet.Pixel {
		height = 1 // no gaps between rows that fine
	}
	const least = 1 // a bar's width in points: shorter intervals must still be seen
	var b sheet.Bars
	for i := 0; i < n; i += merged {
		end := min(i+merged, n)
		lo, hi := slices.Min(l.lo[i:end]), slices.Max(l.hi[i:end])
		if hi < lo {
			continue
		}
		x0, x1 := x(lo), x(hi)
		if x1-x0 < least {
			x0 = min(max((x0+x1-least)/2, c.Min.X), c.Max.X-least)
			x1 = x0 + least
		}
		top, bottom := y(float64(n-i)-0.5-(1-height)/2), y(float64(n-end)-0.5+(1-height)/2)
		b.Add(x0, x1, sheet.Snap(bottom), sheet.Snap(top))
	}
	b.Fill(c, l.look.color)
}
