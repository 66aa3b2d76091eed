// Package sheet lays out figures and writes them as PNG and SVG files. It knows nothing about
// networks.
//
// A Sheet describes the content of a figure from top to bottom: a title, a legend, Blocks of
// plots whose data areas are aligned, and notes. Sheet.Figure turns it into a Figure, whose
// height depends on its content. The library gonum/plot draws the plots. This package also
// provides text styles and colours (style.go, color.go), units and ticks of axes (axis.go),
// fast drawing of many bars (bars.go) and number formats (format.go).
//
// Lengths are in points (1/72 inch) unless stated otherwise. Coordinates grow to the right and
// upwards.
package sheet

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// Width is the width of every figure, equal to a printed page, so that text has its usual size
// in print. ContentWidth is the width without the margins.
const (
	Width        = 9 * vg.Inch
	ContentWidth = Width - 2*margin
)

// Lengths in points.
const (
	margin        = 12                          // around the sheet
	gap           = 14                          // between plots
	Swatch        = 22                          // width of a sample in a legend
	padding       = 6                           // between the parts of a sheet
	headingHeight = HeadingSize*LineSpacing + 4 // space above a plot for its heading
)

// Sheet is the content of a figure, from top to bottom. Empty parts take no space.
type Sheet struct {
	Title    string
	Subtitle string   // for example the title of the run
	Legend   []Entry  // in rows below the subtitle
	Blocks   []Block  // one below another
	Notes    []string // sentences below the plots
}

// Sample draws the symbol of a legend entry, for example a short line, so that it fills c.
type Sample func(c draw.Canvas)

// Entry is a legend entry: a text with its symbol.
type Entry struct {
	Text   string
	Sample Sample
}

// AddLegend appends an entry to the legend.
func (s *Sheet) AddLegend(text string, sample Sample) {
	s.Legend = append(s.Legend, Entry{Text: text, Sample: sample})
}

// Note appends a formatted note below the plots.
func (s *Sheet) Note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// Add appends a block of plots side by side, with a data area of the given height.
func (s *Sheet) Add(height vg.Length, plots ...*plot.Plot) {
	s.Blocks = append(s.Blocks, Block{
		Plots:  plots,
		Cols:   len(plots),
		Height: height,
	})
}

// First returns the first limit elements of list. If it drops elements, it adds a note; what
// names the elements in it.
func First[T any](s *Sheet, list []T, limit int, what string) []T {
	if len(list) > limit {
		s.Note("The first %d of %d %s are shown.", limit, len(list), what)
		return list[:limit]
	}
	return list
}

// Block is a group of plots in rows. Their data areas have the same size.
type Block struct {
	Plots  []*plot.Plot // in rows, from the top left
	Cols   int          // plots per row; 0 means 1
	Height vg.Length    // height of the data area of each plot
	XTitle string       // common title of the x axes
	YTitle string       // common title of the y axes
	// SideWidth is the width of the area to the right of the plots.
	SideWidth vg.Length
	// indent moves the plots to the right, so that data areas of blocks are aligned.
	indent vg.Length
	// DrawSide draws in that area, for example a colour bar. It may be nil.
	DrawSide func(c draw.Canvas)
}

// Figure returns the figure of s with a file name. Its height is the sum of the heights of the
// parts, rounded up to whole points so that snapped edges are sharp.
func (s *Sheet) Figure(name string) Figure {
	s.alignBlocks()
	// Measure on a canvas that is higher than any figure.
	top := vg.Length(1e5)
	c := draw.NewCanvas(new(recorder.Canvas), Width, top)
	height := top - s.drawFrame(&c).Y
	for i := range s.Blocks {
		height += s.Blocks[i].height() + gap
	}
	height = vg.Length(math.Ceil(float64(height)))

	return Figure{
		Name:   name,
		Title:  s.Title,
		Width:  Width,
		Height: height,
		Draw:   s.draw,
	}
}

// alignBlocks aligns the left edges of data areas of blocks with one plot per row.
func (s *Sheet) alignBlocks() {
	widest := vg.Length(0)
	left := make([]vg.Length, len(s.Blocks)) // width of the axis, indexed by block; 0 is not aligned
	c := draw.NewCanvas(new(recorder.Canvas), ContentWidth, Width)
	for i, b := range s.Blocks {
		if b.Cols > 1 {
			continue
		}
		for _, p := range b.Plots {
			left[i] = max(left[i], p.DataCanvas(c).Min.X)
		}
		if b.YTitle != "" && left[i] > 0 {
			left[i] += axisTitleHeight
		}
		widest = max(widest, left[i])
	}
	for i := range s.Blocks {
		if left[i] > 0 {
			s.Blocks[i].indent = widest - left[i]
		}
	}
}

// drawFrame draws everything except the blocks and reduces c to the remaining area, whose size
// it returns. Figure calls it with an empty canvas that only records, to measure the height.
func (s *Sheet) drawFrame(c *draw.Canvas) (left vg.Point) {
	*c = draw.Crop(*c, margin, -margin, margin, -margin)
	s.drawHeader(c)
	// Draw the notes from the last line up, so that they end at the bottom.
	style := Sans(NoteSize, Dim)
	for _, note := range slices.Backward(s.Notes) {
		const maxLines = 2
		for _, line := range slices.Backward(Wrap(style, note, ContentWidth, maxLines)) {
			c.FillText(style, Point(c.Min.X, c.Min.Y+2), line)
			c.Min.Y += NoteSize * LineSpacing
		}
	}

	if len(s.Notes) > 0 {
		c.Min.Y += padding
	}
	return Point(c.Max.X-c.Min.X, c.Max.Y-c.Min.Y)
}

// draw draws s so that it fills c.
func (s *Sheet) draw(c draw.Canvas) {
	s.drawFrame(&c)
	for i := range s.Blocks {
		b := &s.Blocks[i]
		// Each block takes its height from the top.
		own := c
		own.Min.Y = own.Max.Y - b.height()
		b.draw(own)
		c.Max.Y = own.Min.Y - gap
	}
}

// drawHeader draws the title, the subtitle and the legend at the top of c and reduces c to the
// remaining area.
func (s *Sheet) drawHeader(c *draw.Canvas) {
	width := c.Max.X - c.Min.X
	// lines draws a text in lines at the top of c.
	lines := func(style draw.TextStyle, text string, maxLines int) {
		size := style.Font.Size
		for _, l := range Wrap(style, text, width, maxLines) {
			c.Max.Y -= size * LineSpacing
			c.FillText(style, Point(c.Min.X, c.Max.Y+size*0.25), l)
		}
	}

	const maxTitleLines, maxSubtitleLines = 2, 3
	lines(Bold(titleSize, Ink), s.Title, maxTitleLines)
	lines(Sans(NoteSize, Dim), s.Subtitle, maxSubtitleLines)
	c.Max.Y -= padding
	if len(s.Legend) == 0 {
		return
	}
	// Draw the legend from left to right, in as many rows as necessary.
	style := Aligned(Sans(TickSize, Ink), draw.XLeft, draw.YCenter)
	const row, gap = 15, 16
	x := c.Min.X
	c.Max.Y -= row

	for _, e := range s.Legend {
		text := Fit(style, e.Text, width-Swatch-padding)
		need := Swatch + padding + style.Width(text)
		if x > c.Min.X && x+need > c.Max.X {
			x = c.Min.X
			c.Max.Y -= row
		}

		// The symbol is 8 points high and centred on the row.
		mid := c.Max.Y + row/2
		e.Sample(draw.Canvas{
			Canvas: c.Canvas,
			Rectangle: vg.Rectangle{
				Min: Point(x, mid-4),
				Max: Point(x+Swatch, mid+4),
			},
		})

		c.FillText(style, Point(x+Swatch+padding, mid+1), text)
		x += need + gap
	}

	c.Max.Y -= padding
}

// grid returns the plots in rows. The last row is filled with nil.
func (b *Block) grid() ([][]*plot.Plot, draw.Tiles) {
	cols := max(b.Cols, 1)
	all := append(slices.Clone(b.Plots), make([]*plot.Plot, cols-1)...)
	rows := len(all) / cols
	return slices.Collect(slices.Chunk(all[:rows*cols], cols)), draw.Tiles{
		Cols: cols,
		Rows: rows,
		PadX: gap,
		PadY: gap,
	}
}

// axisTitleHeight is the height of a common axis title.
const axisTitleHeight = LabelSize*LineSpacing + 3

// height returns the height of the block. The axes of a plot need space in addition to its
// data area; the highest plot of a row determines the height of the row.
func (b *Block) height() vg.Length {
	rows, tiles := b.grid()
	h := vg.Length(tiles.Rows)*b.Height + vg.Length(tiles.Rows-1)*tiles.PadY
	if b.XTitle != "" {
		h += axisTitleHeight
	}
	const canvasHeight = 1000
	// Measure the axes of each plot on a canvas that is higher than any of them.
	c := draw.NewCanvas(new(recorder.Canvas),
		(ContentWidth-b.SideWidth)/vg.Length(tiles.Cols), canvasHeight)

	for _, row := range rows {
		maxExtra := vg.Length(0)
		for _, p := range row {
			if p != nil {
				maxExtra = max(maxExtra, canvasHeight-p.DataCanvas(c).Size().Y)
			}
		}
		h += maxExtra
	}

	return h
}

// draw draws the plots with aligned data areas, the common axis titles and the area to their
// right.
func (b *Block) draw(c draw.Canvas) {
	all := c
	if b.XTitle != "" {
		c.Min.Y += axisTitleHeight
	}
	if b.YTitle != "" {
		c.Min.X += axisTitleHeight
	}
	c.Min.X += b.indent
	c.Max.X -= b.SideWidth
	rows, tiles := b.grid()

	// Draw the plots. data becomes the bounding box of all data areas.
	data := vg.Rectangle{Min: c.Max, Max: c.Min}
	for j, row := range plot.Align(rows, tiles, c) {
		for i, own := range row {
			if p := rows[j][i]; p != nil {
				p.Draw(own)
				d := p.DataCanvas(own)
				data.Min = Point(min(data.Min.X, d.Min.X), min(data.Min.Y, d.Min.Y))
				data.Max = Point(max(data.Max.X, d.Max.X), max(data.Max.Y, d.Max.Y))
			}
		}
	}

	// Draw the axis titles.
	style := Aligned(Sans(LabelSize, Ink), draw.XCenter, draw.YBottom)
	// place centres a title at the data, but keeps it inside the block.
	place := func(text string, from, to, limit vg.Length) (vg.Length, string) {
		text = Fit(style, text, limit-from)
		half := style.Width(text) / 2
		return min(max((from+to)/2, half), limit-half), text
	}

	x, text := place(b.XTitle, data.Min.X, data.Max.X, all.Max.X)
	c.FillText(style, Point(x, all.Min.Y+3), text)
	style.Rotation = math.Pi / 2
	style.YAlign = draw.YTop
	y, text := place(b.YTitle, max(data.Min.Y-headingHeight, all.Min.Y), data.Max.Y,
		all.Max.Y)
	c.FillText(style, Point(all.Min.X, y), text)
	// Draw the area to the right, as high as the data.
	if b.DrawSide != nil {
		all.Min, all.Max = Point(c.Max.X, data.Min.Y), Point(all.Max.X, data.Max.Y)
		b.DrawSide(all)
	}
}

// BoxSample returns the symbol of a bar.
func BoxSample(clr color.Color) Sample { return ThinBoxSample(clr, 1) }

// ThinBoxSample returns the symbol of a bar whose height is a share of the height of BoxSample.
func ThinBoxSample(clr color.Color, height vg.Length) Sample {
	return func(c draw.Canvas) {
		mid := c.Center().Y
		FillBox(c, clr, c.Min.X, c.Max.X, mid-height*4, mid+height*4)
	}
}

// LineSample returns the symbol of a line.
func LineSample(style draw.LineStyle) Sample {
	return func(c draw.Canvas) { HLine(c, style, c.Center().Y) }
}

// HLine draws a horizontal line across c at height y.
func HLine(c draw.Canvas, style draw.LineStyle, y vg.Length) {
	c.StrokeLine2(style, c.Min.X, y, c.Max.X, y)
}

// VLine draws a vertical line across c at x.
func VLine(c draw.Canvas, style draw.LineStyle, x vg.Length) {
	c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
}

// DotSample returns the symbol of a point: a disc.
func DotSample(clr color.Color) Sample {
	return func(c draw.Canvas) { Disc(c, c.Center(), 3.6, clr) }
}

// Disc draws a filled circle.
func Disc(c draw.Canvas, at vg.Point, radius vg.Length, clr color.Color) {
	c.DrawGlyphNoClip(draw.GlyphStyle{
		Color:  clr,
		Radius: radius,
		Shape:  draw.CircleGlyph{},
	}, at)
}

// WithLength returns the vector with the direction of p and the given length. p must not be
// zero.
func WithLength(p vg.Point, length vg.Length) vg.Point {
	return p.Scale(length / vg.Length(math.Hypot(float64(p.X), float64(p.Y))))
}

// ArrowHead draws an arrow head at tip in the direction along. long is its length and half is
// half its width. It returns the point at which the line of the arrow ends.
func ArrowHead(c draw.Canvas, clr color.Color, tip, along vg.Point, long, half vg.Length) (neck vg.Point) {
	neck = tip.Sub(WithLength(along, long))
	side := WithLength(Point(along.Y, -along.X), half)
	c.FillPolygon(clr, []vg.Point{tip, neck.Add(side), neck.Sub(side)})
	return neck
}
