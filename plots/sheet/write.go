package sheet

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a picture that can be written in any format. It refers to the data that it was made from, which must not
// change until it is written.
type Figure struct {
	Name  string // of its file, without ending: "nct", "trace-reference"
	Title string // what it shows, for people

	Width, Height vg.Length
	Draw          func(c draw.Canvas)
}

// dpi of PNG files: sharp on common screens, and small enough to raster in tens of milliseconds.
const dpi = 144

// Formats lists the formats that Write knows.
var Formats = []string{"png", "svg"}

// Write draws f in a format, "png" or "svg". It fails on another format and when w does.
func (f Figure) Write(w io.Writer, format string) error {
	switch format {
	case "png":
		return writePNG(w, f.Image(dpi))
	case "svg":
		return f.writeSVG(w)
	}
	return badFormat(format)
}

func badFormat(format string) error {
	return fmt.Errorf("no figures in format %q: want %s", format, strings.Join(Formats, " or "))
}

func (f Figure) writeSVG(w io.Writer) error {
	c := vgsvg.New(f.Width, f.Height)
	f.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	// A viewer may lack the font that the text was measured in; these have its widths.
	fonts := []byte("font-family:Liberation Sans")
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), fonts, append(fonts, ",Arial,Helvetica,sans-serif"...)))
	return err
}

// WriteAll writes figs into dir, which it makes when it is missing: a file NAME.FORMAT for each figure and format, on
// the given number of workers (at least 1). The files do not depend on that number. It returns the first error in order
// of the files; the others are written all the same. When ctx ends it returns its error, with some files not written.
func WriteAll(ctx context.Context, dir string, formats []string, figs []Figure, workers int) error {
	for _, format := range formats {
		if !slices.Contains(Formats, format) {
			return badFormat(format)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	errs := make([]error, len(figs)*len(formats))
	busy := make(chan struct{}, max(1, workers))
	var wait sync.WaitGroup
	for i := range errs {
		if ctx.Err() != nil {
			break
		}
		busy <- struct{}{}
		wait.Go(func() {
			errs[i] = figs[i/len(formats)].writeFile(dir, formats[i%len(formats)])
			<-busy
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return cmp.Or(errs...)
}

func (f Figure) writeFile(dir, format string) error {
	var b bytes.Buffer
	if err := f.Write(&b, format); err != nil {
		return fmt.Errorf("figure %s: %w", f.Name, err)
	}
	return os.WriteFile(filepath.Join(dir, f.Name+"."+format), b.Bytes(), 0o666)
}
