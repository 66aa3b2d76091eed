// This file writes figures as files, several at a time.

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

// Figure is a picture that can be written in any format. It refers to the data from which it
// was made, which must not change until the figure is written.
type Figure struct {
	// File name without extension, such as "nct" or "trace-reference".
	Name  string
	Title string // for readers

	Width  vg.Length           // in points
	Height vg.Length           // in points
	Draw   func(c draw.Canvas) // draws the figure so that it fills c
}

// dpi is the resolution of PNG files in pixels per inch: sharp on common screens, and small
// enough to be drawn in tens of milliseconds.
const dpi = 144

// Formats lists the formats of Write.
var Formats = []string{"png", "svg"}

// Write writes f to w in a format, "png" or "svg".
func (f Figure) Write(w io.Writer, format string) error {
	switch format {
	case "png":
		return writePNG(w, f.Image(dpi))
	case "svg":
		return f.writeSVG(w)
	}
	return badFormat(format)
}

// badFormat returns the error for an unknown format.
func badFormat(format string) error {
	return fmt.Errorf("no figures in format %q: want %s", format,
		strings.Join(Formats, " or "))
}

// writeSVG writes f as SVG.
func (f Figure) writeSVG(w io.Writer) error {
	c := vgsvg.New(f.Width, f.Height)
	f.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}

	// Fallback fonts with the same character widths, for viewers without Liberation Sans.
	fonts := []byte("font-family:Liberation Sans")
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), fonts,
		append(fonts, ",Arial,Helvetica,sans-serif"...)))
	return err
}

// WriteAll writes each figure in each format to the file NAME.FORMAT in dir, which it creates
// if necessary. It uses the given number of goroutines (at least 1); the files do not depend
// on it.
//
// If a file cannot be written, the others are still written, and WriteAll returns the first
// error in the order of files. If ctx is cancelled, some files are missing, and WriteAll
// returns the error of ctx.
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
	// errs has the error of each file. busy limits the goroutines that run at the same time.
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

// writeFile writes f to dir in a format.
func (f Figure) writeFile(dir, format string) error {
	var b bytes.Buffer
	if err := f.Write(&b, format); err != nil {
		return fmt.Errorf("figure %s: %w", f.Name, err)
	}
	return os.WriteFile(filepath.Join(dir, f.Name+"."+format), b.Bytes(), 0o666)
}
