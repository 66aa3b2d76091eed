// This file defines sim plot, and draws the figures of sim sweep.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"sim/internal/alias"
	"sim/internal/text"
	"sim/plots"
	"sim/plots/chart"
	"sim/plots/sheet"
	"sim/scenarios"
	"sim/scenarios/result"
	"sim/scenarios/study"
)

// plotCommand returns the definition of sim plot.
func (c *command) plotCommand() *cli.Command {
	return &cli.Command{
		Name:      "plot",
		Usage:     "draw figures of finished runs and sweeps without running them again",
		ArgsUsage: "RESULT...",
		Description: describe("RESULT is the directory of a run or a sweep, or the name of a scenario, for its newest run or sweep under runs/.\n"+
			"For a run, its figures are drawn again, or those of --figure; for a sweep, the figures that its study defines.\n"+
			"Several runs are drawn side by side, on an axis named run. --x, --y and similar flags define one figure instead.\n"+
			"They take names of varied keys (fabric.port_bandwidth, or port_bandwidth if that is unambiguous), policy, or metrics.",
			example{"sim plot gpt7b --format svg", "the figures of the newest run as SVG"},
			example{"sim plot deepseek671b --figure windows,index", "two figures that a run does not draw by itself"},
			example{"sim plot delta-fig6 -x port_bandwidth -y makespan_s", "a figure of the newest sweep"},
			example{"sim plot runs/a runs/b -y nct --out figures", "two runs side by side"}),
		Flags: []cli.Flag{
			stringFlag("out", "write the figures into `DIR`", "the result's "+result.PlotsDir+"/"),
			formatFlag(),
			repeatableFlag("figure", "draw only the figures `NAMES` of a run, such as nct,topology, or "+plots.EveryFigure+"; "+strings.Join(plots.OnDemand(), ", ")+" need the DELTA paper and are drawn only so (repeatable)", noDefault),
			stringFlag("spec", "draw the figures that the [[plot]] tables of `FILE` define", noDefault),
			stringFlag("kind", "draw one figure of `KIND` "+strings.Join(chart.Kinds[:len(chart.Kinds)-1], ", ")+" or "+chart.Kinds[len(chart.Kinds)-1], "depending on the x axis"),
			stringFlag("x", "put `NAME` on the x axis: a varied key, policy, or for lines and scatter a metric", noDefault),
			stringFlag("y", "show the metric `NAME`, or solve_s, simulation_s or reference.METRIC; for a heatmap, put NAME on the y axis", noDefault),
			stringFlag("z", "colour a heatmap or twists by the metric `NAME`", noDefault),
			stringFlag("series", "draw a line or colour for each value of `NAME`", "policy"),
			stringFlag("panels", "draw a panel for each value of `NAME`", noDefault),
			repeatableFlag("where", "show only the cells that match `KEY=A,B`, with KEY equal to A or B (repeatable)", noDefault),
			stringFlag("name", "name the file of the figure `NAME`, without extension", noDefault),
			stringFlag("title", "use `TEXT` as the title of the figure", noDefault),
			boolFlag("log-x", "make the x axis logarithmic"),
			boolFlag("log-y", "make the y axis logarithmic"),
		},
		Action: c.plot,
	}
}

// maxTitleBytes limits the name and the title of a figure, so that they fit into a file name
// and onto the page.
const maxTitleBytes = 200

// figureFlags lists the flags that define one figure.
var figureFlags = []string{"kind", "x", "y", "z", "series", "panels", "where", "name", "title", "log-x", "log-y"}

// plotFlags holds the flags of sim plot.
type plotFlags struct {
	// out is the directory for the figures, and spec the file with [[plot]] tables.
	out, spec string
	formats   []string // png, svg
	figures   []string // names of figures of a run; nil for the figures that a run draws
	// figure is the figure that the flags define; nil if none of figureFlags is given.
	figure *result.Plot
	// isLogXSet reports whether --log-x is given, as true or false.
	isLogXSet bool
}

// readPlotFlags reads and checks the flags of sim plot.
func readPlotFlags(cc *cli.Context) (f plotFlags, err error) {
	// Check the texts that become the name of a file or the title.
	for _, name := range []string{"name", "title"} {
		if given := cc.String(name); text.Line(given, maxTitleBytes) != given {
			return f, usagef("flag --%s needs a line of text of at most %d bytes, not %q", name, maxTitleBytes, text.Line(given, maxTitleBytes))
		}
	}
	// The name must not lead out of the directory.
	if name := cc.String("name"); strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return f, usagef("flag --name needs the name of a file without slashes that does not start with a dot, not %q", name)
	}
	f.out, f.spec = cc.String("out"), cc.String("spec")
	if f.formats, err = readFormats(cc); err != nil {
		return f, err
	}
	for _, names := range cc.StringSlice("figure") {
		f.figures = append(f.figures, strings.Split(names, ",")...)
	}
	// If a flag of a figure is given, the flags define one figure.
	i := slices.IndexFunc(figureFlags, cc.IsSet)
	if f.figures != nil && (i >= 0 || f.spec != "") {
		other := "spec"
		if i >= 0 {
			other = figureFlags[i]
		}
		return f, usagef("--figure names figures of a run and --%s defines others; use one of the two", other)
	}
	if i < 0 {
		return f, nil
	}
	if f.spec != "" {
		return f, usagef("--%s defines a figure and --spec draws the figures of a file; use one of the two", figureFlags[i])
	}
	f.figure = &result.Plot{
		Kind: cc.String("kind"), X: cc.String("x"), Y: cc.String("y"), Z: cc.String("z"),
		Series: cc.String("series"), Panels: cc.String("panels"), Name: cc.String("name"), Title: cc.String("title"),
		LogX: cc.Bool("log-x"), LogY: cc.Bool("log-y"),
	}
	f.isLogXSet = cc.IsSet("log-x")
	f.figure.Where, err = readWhere(cc.StringSlice("where"))
	return f, err
}

// readWhere parses the values KEY=A,B of --where. Commas inside brackets do not separate
// values.
func readWhere(texts []string) (result.NameFilter, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	where := result.NameFilter{}
	for _, text := range texts {
		key, values, ok := strings.Cut(text, "=")
		if key = strings.TrimSpace(key); !ok || key == "" || strings.TrimSpace(values) == "" {
			return nil, usagef("flag --where needs KEY=A,B, not %q", text)
		}
		// Split at commas outside brackets.
		depth := 0
		for _, v := range strings.FieldsFunc(values, func(r rune) bool {
			switch r {
			case '[':
				depth++
			case ']':
				depth--
			}
			return r == ',' && depth <= 0
		}) {
			where[key] = append(where[key], strings.TrimSpace(v))
		}
	}
	return where, nil
}

// currentFilter returns a filter with the current names of its keys. It prints a warning for each
// deprecated one. Last parts of keys remain unchanged.
func (c *command) currentFilter(where result.NameFilter) result.NameFilter {
	return result.CurrentNames(where, func(key string) string {
		if !strings.Contains(key, ".") {
			return key
		}
		return c.currentName(key, alias.Key)
	})
}

// plot draws the requested figures and prints their files.
func (c *command) plot(cc *cli.Context) error {
	if cc.NArg() == 0 {
		return usagef("sim plot needs a RESULT: the directory of a run or a sweep, or the name of a scenario that was run")
	}
	flags, err := readPlotFlags(cc)
	if err != nil {
		return err
	}
	// Read the figures of a file, if one is given.
	if flags.figure != nil {
		flags.figure.Rename(c.warnRenamed)
	}
	var specs []result.Plot
	if flags.spec != "" {
		var deprecated scenarios.Diagnostics
		if specs, deprecated, err = scenarios.Plots(flags.spec); err != nil {
			return err
		}
		c.warnDeprecated(deprecated)
	}
	figs, dir, drawn := c.drawResults(cc.Args().Slice(), specs, flags)
	if len(figs) == 0 {
		if drawn == nil {
			drawn = usagef("%s has no data for a figure", strings.Join(cc.Args().Slice(), ", "))
		}
		return drawn
	}
	// Write the figures and print the paths of their files.
	if err := sheet.WriteAll(cc.Context, dir, flags.formats, figs, runtime.GOMAXPROCS(0)); err != nil {
		if cc.Context.Err() != nil {
			return cc.Context.Err()
		}
		return result.Unwritable(dir, err)
	}
	for _, f := range figs {
		for _, format := range flags.formats {
			if _, err := fmt.Fprintln(c.stdout, filepath.Join(dir, f.Name+"."+format)); err != nil {
				return err
			}
		}
	}
	return drawn
}

// drawResults draws the figures of results and returns the directory for them. names are
// directories or scenarios, and specs the figures of --spec, which may be nil. If only some
// figures can be drawn, it returns these and an error for the others.
func (c *command) drawResults(names []string, specs []result.Plot, flags plotFlags) (figs []sheet.Figure, dir string, err error) {
	// Read all results. A sweep must be alone.
	var runs []*result.Run
	var dirs []string
	for _, name := range names {
		dir, err := findResult(name, "run or sweep", result.List(runsRoot))
		if err != nil {
			return nil, "", err
		}
		if isSweep(dir) && flags.figures != nil {
			return nil, "", usagef("%s is a sweep; --figure names figures of one run", dir)
		}
		if isSweep(dir) {
			if len(names) > 1 {
				return nil, "", usagef("%s is a sweep; draw it by itself, only runs are drawn side by side", dir)
			}
			s, t, own, _, err := c.readSweep(dir)
			if err != nil {
				return nil, "", err
			}
			if specs == nil {
				specs = own
			}
			figs, err := drawSweep(s, t, specs, flags)
			return figs, plotDir(flags, dir), err
		}
		run, err := result.Read(dir)
		if err != nil {
			return nil, "", err
		}
		runs, dirs = append(runs, run), append(dirs, dir)
	}

	// Draw the figures of one run, or a figure of several runs as if they were a sweep.
	if len(runs) > 1 && flags.figures != nil {
		return nil, "", usagef("--figure names figures of one run, not of %d", len(runs))
	}
	if len(runs) > 1 && flags.out == "" {
		return nil, "", usagef("several runs have no common directory; give the figures one with --out DIR")
	}
	dir = plotDir(flags, dirs[0])
	if len(runs) == 1 && specs == nil && flags.figure == nil {
		figs, err = plots.All(&runs[0].Document, &runs[0].Detail, flags.figures...)
		if err != nil {
			err = &result.PlaceError{Path: dirs[0], Why: err.Error()}
		}
		return figs, dir, err
	}
	s, t, err := runsAsSweep(runs, dirs)
	if err != nil {
		return nil, "", err
	}
	figs, err = drawSweep(s, t, specs, flags)
	return figs, dir, err
}

// readSweep reads a sweep with its timings and the plots of its study. For an unfinished
// sweep, it returns the finished cells and prints a message. all is the total number of cells.
func (c *command) readSweep(dir string) (s *result.Sweep, t *result.SweepTimings, plots []result.Plot, all int, err error) {
	if _, err := os.Stat(filepath.Join(dir, result.SweepFile)); err != nil {
		s, t, plots, all, err = study.ReadPartial(dir)
		if err == nil && len(s.Cells) > 0 {
			c.logf("%s is not finished: figures show %s of %s", dir, text.Count(len(s.Cells)), text.Plural(all, "cell"))
			return s, t, plots, all, nil
		}
	}

	// The error lists the missing files.
	if s, t, plots, err = result.ReadSweep(dir); err != nil {
		return nil, nil, nil, 0, err
	}
	return s, t, plots, len(s.Cells), nil
}

// isSweep reports whether dir is the directory of a sweep, finished or not.
func isSweep(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, result.SweepFile))
	return err == nil || result.IsSweep(dir)
}

// plotDir returns the directory for figures: --out, or by default a directory inside the
// result.
func plotDir(flags plotFlags, dir string) string {
	return cmp.Or(flags.out, filepath.Join(dir, result.PlotsDir))
}

// drawSweep draws the figure that the flags define, or else the figures of specs, or else the
// figures that package chart proposes. An invalid figure is a usage error, unless another figure
// can be drawn.
func drawSweep(s *result.Sweep, t *result.SweepTimings, specs []result.Plot, flags plotFlags) ([]sheet.Figure, error) {
	if flags.figure != nil {
		p := chart.Propose(s, *flags.figure)
		if flags.isLogXSet {
			p.LogX = flags.figure.LogX
		}
		specs = []result.Plot{p}
	}
	figs, errs := chart.All(specs, s, t)
	// If nothing was drawn, the figures were defined wrongly.
	for i, e := range errs {
		if len(figs) == 0 {
			errs[i] = usageError(e.Error())
		}
	}
	return figs, joinErrors(errs...)
}

// runsAsSweep combines several runs into a sweep with the axis "run". dirs are their
// directories.
func runsAsSweep(runs []*result.Run, dirs []string) (*result.Sweep, *result.SweepTimings, error) {
	// Label each run by its directory, by the whole path if base names are equal.
	axis := result.Axis{Name: result.RunAxis, Keys: []string{result.RunAxis}}
	for _, dir := range dirs {
		label := filepath.Base(filepath.Clean(dir))
		if slices.ContainsFunc(dirs, func(d string) bool { return d != dir && filepath.Base(filepath.Clean(d)) == label }) {
			label = filepath.Clean(dir)
		}
		if slices.Contains(axis.Labels, label) {
			return nil, nil, usagef("%s is given twice", dir)
		}
		axis.Labels = append(axis.Labels, label)
	}
	// The cells have the coordinate of their run.
	s := &result.Sweep{Schema: result.SweepSchema, Version: result.Version, Model: result.Model, Axes: []result.Axis{axis}}
	t := &result.SweepTimings{Cells: map[string]result.PolicyTimings{}}
	for i, r := range runs {
		if i == 0 {
			s.Title = r.Detail.Title
		} else if s.Title != r.Detail.Title {
			s.Title = ""
		}
		t.WallS += r.Timings.WallS
		for _, c := range r.Document.AsSweep().Cells {
			c.At, c.Key = []int{i}, fmt.Sprintf("%d %s", i, c.Policy)
			s.Cells = append(s.Cells, c)
			if times, ok := r.Timings.Policies[c.Policy]; ok {
				t.Cells[c.Key] = times
			}
		}
	}
	if len(s.Cells) == 0 {
		return nil, nil, errors.New("the runs have no policies to draw")
	}
	return s, t, nil
}

// drawCharts writes the figures of a finished sweep. If some cannot be drawn, the others are
// still written.
func drawCharts(ctx context.Context, dir string, specs []result.Plot, s *result.Sweep, t *result.SweepTimings, flags runFlags) error {
	figs, errs := chart.All(specs, s, t)
	for i, e := range errs {
		errs[i] = fmt.Errorf("%s: the results are complete but a figure is not: %w", s.Name, e)
	}
	if len(figs) > 0 {
		if err := sheet.WriteAll(ctx, dir, flags.formats, figs, flags.workers); err != nil {
			errs = append(errs, fmt.Errorf("%s: the results are complete but the figures are not: %w", s.Name, err))
		}
	}
	return joinErrors(errs...)
}
