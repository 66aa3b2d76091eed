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

	"sim/internal/text"
	"sim/plots"
	"sim/plots/chart"
	"sim/plots/sheet"
	"sim/scenarios"
	"sim/scenarios/result"
	"sim/scenarios/study"
)

func (c *command) plotCommand() *cli.Command {
	return &cli.Command{
		Name:      "plot",
		Usage:     "draw figures from finished runs and sweeps, without running them again",
		ArgsUsage: "RESULT...",
		Description: describe("RESULT is the directory of a run or a sweep, or the name of a scenario whose newest run or sweep under runs/ is\n"+
			"meant. Of a run its figures are drawn again, of a sweep those that its study asks for. Several runs are drawn\n"+
			"beside each other, on an axis named run. --x, --y and the like ask for one figure instead; they name keys that\n"+
			"are varied (fabric.port_bandwidth, or port_bandwidth where that is clear), policy, or metrics.",
			example{"sim plot gpt7b --format svg", "the newest run's figures as SVG"},
			example{"sim plot delta-fig6 -x port_bandwidth -y makespan_s", "a figure of the newest sweep"},
			example{"sim plot runs/a runs/b -y nct --out figures", "two runs beside each other"}),
		Flags: []cli.Flag{
			stringFlag("out", "write the figures into `DIR`", "the result's "+result.PlotsDir+"/"),
			formatFlag(),
			stringFlag("spec", "draw what the [[plot]] tables of `FILE` ask for", ""),
			stringFlag("kind", "draw one figure of `KIND` "+strings.Join(chart.Kinds[:len(chart.Kinds)-1], ", ")+" or "+chart.Kinds[len(chart.Kinds)-1], "by what is on the x axis"),
			stringFlag("x", "put `NAME` on the x axis: a key that is varied, policy, or for lines and scatter a metric", ""),
			stringFlag("y", "show the metric `NAME`, or solve_s, play_s or reference.METRIC; of a heatmap what is on the y axis", ""),
			stringFlag("z", "colour a heatmap or twists by the metric `NAME`", ""),
			stringFlag("series", "give each value of `NAME` a line or a colour", "policy"),
			stringFlag("panels", "give each value of `NAME` a panel", ""),
			repeatableFlag("where", "show only where KEY is A or B: `KEY=A,B` (repeatable)", ""),
			stringFlag("name", "call the figure's file `NAME`, without ending", ""),
			stringFlag("title", "write `TEXT` above the figure", ""),
			boolFlag("log-x", "make the x axis logarithmic"),
			boolFlag("log-y", "make the y axis logarithmic"),
		},
		Action: c.plot,
	}
}

// maxTitleBytes bounds names and titles, in bytes.
const maxTitleBytes = 200

// figureFlags are the flags that ask for one figure.
var figureFlags = []string{"kind", "x", "y", "z", "series", "panels", "where", "name", "title", "log-x", "log-y"}

// plotFlags are the flags of `sim plot`.
type plotFlags struct {
	out, spec string
	formats   []string
	figure    *result.Plot // nil where no flag asks for a figure
	isLogXSet bool         // --log-x is given, true or false
}

func readPlotFlags(cc *cli.Context) (f plotFlags, err error) {
	for _, name := range []string{"name", "title"} {
		if given := cc.String(name); text.Line(given, maxTitleBytes) != given {
			return f, usagef("flag --%s wants a line of text of at most %d bytes, not %q", name, maxTitleBytes, text.Line(given, maxTitleBytes))
		}
	}
	if name := cc.String("name"); strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return f, usagef("flag --name wants the name of a file without slashes that does not start with a dot, not %q", name)
	}
	f.out, f.spec = cc.String("out"), cc.String("spec")
	if f.formats, err = readFormats(cc); err != nil {
		return f, err
	}
	i := slices.IndexFunc(figureFlags, cc.IsSet)
	if i < 0 {
		return f, nil
	}
	if f.spec != "" {
		return f, usagef("--%s asks for a figure and --spec takes those of a file; use one of the two", figureFlags[i])
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

// readWhere reads key=a,b. Brackets keep commas together.
func readWhere(texts []string) (result.Where, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	where := result.Where{}
	for _, text := range texts {
		key, values, ok := strings.Cut(text, "=")
		if key = strings.TrimSpace(key); !ok || key == "" || strings.TrimSpace(values) == "" {
			return nil, usagef("flag --where wants KEY=A,B, not %q", text)
		}
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

// plot draws what is asked for and prints where it is.
func (c *command) plot(cc *cli.Context) error {
	if cc.NArg() == 0 {
		return usagef("sim plot needs a RESULT: the directory of a run or a sweep, or the name of a scenario that was run")
	}
	flags, err := readPlotFlags(cc)
	if err != nil {
		return err
	}
	var specs []result.Plot
	if flags.spec != "" {
		if specs, err = scenarios.Plots(flags.spec); err != nil {
			return err
		}
	}
	figs, dir, drawn := c.drawResults(cc.Args().Slice(), specs, flags)
	if len(figs) == 0 {
		if drawn == nil {
			drawn = usagef("%s holds nothing that a figure could show", strings.Join(cc.Args().Slice(), ", "))
		}
		return drawn
	}
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

// drawResults draws the figures of results, and says which directory they are for. Where only some can be drawn these
// come with an error for the others.
func (c *command) drawResults(names []string, specs []result.Plot, flags plotFlags) (figs []sheet.Figure, dir string, err error) {
	var runs []*result.Run
	var dirs []string
	for _, name := range names {
		dir, err := findResult(name, "run or sweep", result.List(runsRoot))
		if err != nil {
			return nil, "", err
		}
		if isSweep(dir) {
			if len(names) > 1 {
				return nil, "", usagef("%s is a sweep; draw it by itself, only runs are drawn beside each other", dir)
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
	if len(runs) > 1 && flags.out == "" {
		return nil, "", usagef("several runs have no directory in common; say where the figures go with --out DIR")
	}
	dir = plotDir(flags, dirs[0])
	if len(runs) == 1 && specs == nil && flags.figure == nil {
		figs, err = plots.All(&runs[0].Document, &runs[0].Detail)
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

// readSweep reads a sweep, of one that is not finished the cells that are there, and says so. all is how many there are
// to be.
func (c *command) readSweep(dir string) (s *result.Sweep, t *result.SweepTimings, plots []result.Plot, all int, err error) {
	if _, err := os.Stat(filepath.Join(dir, result.SweepFile)); err != nil {
		s, t, plots, all, err = study.Partial(dir)
		if err == nil && len(s.Cells) > 0 {
			c.logf("%s is not finished: figures show %s of %s", dir, text.Count(len(s.Cells)), text.Plural(all, "cell"))
			return s, t, plots, all, nil
		}
	}
	if s, t, plots, err = result.ReadSweep(dir); err != nil { // which says what is missing
		return nil, nil, nil, 0, err
	}
	return s, t, plots, len(s.Cells), nil
}

// isSweep reports whether dir is that of a sweep, whole or not.
func isSweep(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, result.SweepFile))
	return err == nil || result.IsSweep(dir)
}

// plotDir is where figures go: --out, or beside the result.
func plotDir(flags plotFlags, dir string) string {
	return cmp.Or(flags.out, filepath.Join(dir, result.PlotsDir))
}

// drawSweep draws what the flags or else the plots ask for. Faults of plots are unusable input, unless others can be
// drawn.
func drawSweep(s *result.Sweep, t *result.SweepTimings, specs []result.Plot, flags plotFlags) ([]sheet.Figure, error) {
	if flags.figure != nil {
		p := chart.Propose(s, *flags.figure)
		if flags.isLogXSet {
			p.LogX = flags.figure.LogX
		}
		specs = []result.Plot{p}
	}
	figs, errs := chart.All(specs, s, t)
	for i, e := range errs {
		if len(figs) == 0 {
			errs[i] = usageError(e.Error())
		}
	}
	return figs, joinErrors(errs...)
}

// runsAsSweep makes one table of several runs, as if a sweep had varied the run.
func runsAsSweep(runs []*result.Run, dirs []string) (*result.Sweep, *result.SweepTimings, error) {
	axis := result.Axis{Name: "run", Keys: []string{"run"}}
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

// drawCharts writes the figures of a finished sweep. Those that can be drawn are written though others cannot.
func drawCharts(ctx context.Context, dir string, specs []result.Plot, s *result.Sweep, t *result.SweepTimings, flags runFlags) error {
	figs, errs := chart.All(specs, s, t)
	for i, e := range errs {
		errs[i] = fmt.Errorf("%s: the results are whole but a figure is not: %w", s.Name, e)
	}
	if len(figs) > 0 {
		if err := sheet.WriteAll(ctx, dir, flags.formats, figs, flags.workers); err != nil {
			errs = append(errs, fmt.Errorf("%s: the results are whole but the figures are not: %w", s.Name, err))
		}
	}
	return joinErrors(errs...)
}
