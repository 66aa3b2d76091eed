// This file defines sim report, which writes web pages.

package cli

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"sim/internal/infile"
	"sim/plots"
	"sim/plots/sheet"
	"sim/scenarios/accuracy"
	"sim/scenarios/compare"
	"sim/scenarios/report/page"
	"sim/scenarios/result"
)

// reportCommand returns the definition of sim report.
func (c *command) reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "write an interactive HTML report of finished runs and sweeps",
		ArgsUsage: "RESULT...",
		Description: describe("RESULT is the directory of a run or a sweep, or the name of a scenario, for its newest run or sweep under runs/.\n"+
			"The file is self-contained: it needs no other files and no network.\n"+
			"With --compare, the two results are OLD and NEW, as for sim compare, and the report begins with their differences;\n"+
			".bench files and directories of them are also accepted.",
			example{"sim report deepseek671b", "the newest run of a scenario"},
			example{"sim report runs/a runs/b -o both.html", "two runs side by side"},
			example{"sim report runs/old runs/new --compare -o diff.html", "two runs and their differences"}),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write `FILE`, or - for standard output", DefaultText: reportFile + " in the directory of a single RESULT"},
			boolFlag("compare", "show the differences between two RESULTs, OLD and NEW"),
			boolFlag("force", "replace FILE even if it is not a report"),
		},
		Action: c.writeReport,
	}
}

// reportFile is the default file name of the report of one result.
const reportFile = "report.html"

// writeReport writes a report of the results in the arguments and prints its path.
func (c *command) writeReport(cc *cli.Context) error {
	names := cc.Args().Slice()
	switch n := len(names); {
	case n == 0:
		return usagef("sim report needs a RESULT: the directory of a run or a sweep, or the name of a scenario that was run")
	case cc.Bool("compare") && n != 2:
		return usagef("flag --compare needs two RESULTs, OLD and NEW, not %d", n)
	case n > 1 && !cc.IsSet("out"):
		return usagef("several results have no common directory; give the report a file with -o FILE")
	}

	// Find the results.
	var docs []page.Document
	var read []string
	for i, name := range names {
		path, err := findResult(name, "run or sweep", result.List(runsRoot))
		if err != nil {
			return err
		}
		if slices.Contains(read, path) {
			return usagef("%s is given twice", names[i])
		}
		read = append(read, path)
	}

	// The comparison comes first, followed by the results.
	if cc.Bool("compare") {
		d, err := compareResults(read[0], read[1])
		if err != nil {
			return err
		}
		docs = append(docs, d)
	}
	for _, path := range read {
		if cc.Bool("compare") && !result.IsResult(path) {
			// It has metrics only, which the comparison shows.
			continue
		}
		d, err := c.readDocument(path)
		if err != nil {
			return err
		}
		docs = append(docs, d)
	}

	// Write the report, but replace only reports.
	path := cc.String("out")
	if path == "" {
		path = filepath.Join(read[0], reportFile)
	}
	write := func(w io.Writer) error { return page.Write(w, docs, figureStyle()) }
	if path == "-" {
		return write(c.stdout)
	}

	// A mistyped path must not destroy another file.
	if !cc.Bool("force") && !isReplaceable(path) {
		return &result.PlaceError{Path: path, Why: "exists and is not a report of sim; choose another file with -o, or replace it with --force"}
	}
	if err := c.writeFile(path, read, write); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.stdout, path)
	return err
}

// readDocument reads the directory of a run or a sweep, finished or not.
func (c *command) readDocument(dir string) (page.Document, error) {
	if !isSweep(dir) {
		run, err := result.Read(dir)
		if err != nil {
			return page.Document{}, err
		}
		run.Evidence = accuracy.Evidence(run.Scenario)
		return page.RunDocument(run), nil
	}
	// A sweep includes the figures of its study.
	s, t, asked, all, err := c.readSweep(dir)
	if err != nil {
		return page.Document{}, err
	}

	// The report shows the text of the study, if it is stored.
	study, err := result.ReadStudy(dir)
	if err != nil {
		return page.Document{}, err
	}
	return page.SweepDocument(dir, s, t, asked, study, all)
}

// compareResults compares two results for the report.
func compareResults(oldPath, newPath string) (page.Document, error) {
	// Read both sides.
	var sides [2]*compare.Set
	for i, path := range []string{oldPath, newPath} {
		var err error
		var ignored []string // no part of row names
		if sides[i], err = compare.Read(path, ignored); err != nil {
			return page.Document{}, err
		}
	}

	// Differences within rounding are not shown.
	found, err := compare.Compare(sides[0], sides[1], compare.Options{FailOver: compare.Rounding})
	if err != nil {
		return page.Document{}, usageError(err.Error())
	}
	return page.ComparisonDocument(found), nil
}

// isReplaceable reports whether a report can be written to path: nothing exists there, or an
// empty file, a report or a special file.
func isReplaceable(path string) bool {
	f, _, err := infile.Open(path)
	if err != nil {
		// Creating the file reports the error.
		return true
	}
	defer f.Close()
	// The generator element is within the first bytes of a report.
	const headBytes = 4 << 10
	head := make([]byte, headBytes)
	n, _ := io.ReadFull(f, head)
	return n == 0 || bytes.Contains(head[:n], []byte(page.Generator))
}

// figureStyle returns the colours and line styles of package plots, so that reports look like
// figures.
func figureStyle() page.Style {
	var l page.Style

	// The web page draws series in the order of the styles of figures.
	for _, s := range sheet.LineStyles {
		line := page.LineStyle{Color: cssColor(s.Color), Dashes: []float64{}}
		for _, d := range s.Dashes {
			line.Dashes = append(line.Dashes, d.Points())
		}
		l.Series = append(l.Series, line)
	}
	// Sample the colour scale. The page interpolates between samples.
	const steps = 32
	for i := range steps + 1 {
		l.Heat = append(l.Heat, cssColor(sheet.Heat(float64(i)/steps)))
	}

	// Tracks have the colours and rows of the timelines of package plots.
	for _, k := range plots.SpanKinds() {
		l.Spans = append(l.Spans, page.SpanStyle{Name: k.Name, Words: k.Text, Color: cssColor(k.Color), Row: k.Row})
	}
	return l
}

// cssColor formats a colour for style sheets.
func cssColor(c color.Color) string {
	r := sheet.ToRGBA(c)
	return fmt.Sprintf("#%02x%02x%02x", r.R, r.G, r.B)
}
