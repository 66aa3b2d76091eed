// This file defines sim calibrate, which fits the profile of a machine to measurements.

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"sim/fabric/machine"
	"sim/internal/infile"
	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios"
	"sim/scenarios/accuracy"
	"sim/scenarios/calibration"
)

// calibrateCommand returns the definition of sim calibrate.
func (c *command) calibrateCommand() *cli.Command {
	return &cli.Command{
		Name:      "calibrate",
		Usage:     "fit the profile of a machine to measurements: output of nccl-tests, tables of kernels, logs of training",
		ArgsUsage: "FILE...",
		Description: describe(text.Wrap("The format of each FILE is detected: "+strings.Join(calibration.Formats(), "; ")+".", text.Width, noHang)+"\n"+
			"Numbers that the measurements do not determine keep the value of the base.",
			example{"sim calibrate all_reduce.txt -o machine.toml", "from the output of nccl-tests; scenarios use it by machine = \"machine.toml\""},
			example{"sim calibrate *.txt gemm.csv --base h100-ib -o machine.toml", "all measurements of a cluster, on the profile of similar machines"}),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the profile to `FILE`, whose name ends with .toml", DefaultText: "required"},
			stringFlag("base", "begin with the machine `M`: the name of a profile, or a file", "the profile of the GPUs that the files name"),
			repeatableFlag("rows", "use only rows whose name matches `PATTERN`, such as 'C-H100-309-*' (repeatable)", "all"),
			&cli.IntFlag{Name: "j", Usage: "use `N` processors; the results do not depend on N", DefaultText: "all"},
		},
		Action: c.calibrate,
	}
}

// calibrate reads the files that the arguments name, fits a profile and writes it.
func (c *command) calibrate(cc *cli.Context) error {
	files, path := cc.Args().Slice(), cc.String("out")
	switch {
	case len(files) == 0:
		return usagef("sim calibrate takes files of measurements, such as the output of nccl-tests")
	case !strings.HasSuffix(path, ".toml"):
		return usagef("flag -o needs the name of a file that ends with .toml, such as -o machine.toml")
	}
	rows, err := c.readMeasurements(files, cc.StringSlice("rows"))
	if err != nil {
		return err
	}
	base, err := baseProfile(cc.String("base"), rows)
	if err != nil {
		return err
	}
	if err := calibration.Complete(rows, base); err != nil {
		return err
	}
	file, err := createOutputFile(path, path, append(slices.Clone(files), cc.String("base")))
	if err != nil {
		return err
	}
	defer file.abort()
	c.cleanup.onAbandon(file.abort)

	m := c.startMeter(func(float64) progressState {
		line := "fitting " + text.Plural(len(rows), "row")
		return progressState{message: line, line: line, total: 1}
	})
	fit, err := calibration.Run(cc.Context, base, rows, workers(cc))
	m.stop()
	if err != nil {
		return err
	}
	fit.Profile.Title = fitTitle(rows, base)
	if err := file.write(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s %s, based on %s.\n%s", profileMark, strings.Join(files, ", "), base.Name, scenarios.WriteMachine(fit.Profile))
		return err
	}); err != nil {
		return err
	}
	_, err = io.WriteString(c.stdout, calibrationText(fit, base, path, c.style()))
	return err
}

// profileMark begins the files that sim calibrate writes.
const profileMark = "# Written by sim calibrate from"

// isFittedProfile reports whether path is a file that sim calibrate wrote.
func isFittedProfile(path string) bool {
	data, err := infile.Read(path, len(profileMark))
	return err == nil && strings.HasPrefix(string(data), profileMark)
}

// readMeasurements reads all files, and selects the rows to which a profile may be fitted.
func (c *command) readMeasurements(files, patterns []string) (rows []*accuracy.Row, err error) {
	for _, name := range files {
		data, err := infile.Read(name, accuracy.MaxFileBytes)
		if err != nil {
			return nil, usagef("%v", err)
		}
		part, err := calibration.Read(name, data)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	rows, open, err := calibration.Select(rows, patterns)
	switch {
	case err != nil:
		return nil, usagef("flag --rows: %v", err)
	case len(rows) == 0:
		return nil, usagef("no row of %s may be fitted%s; the column split of such rows is fit", strings.Join(files, ", "), matching(patterns))
	case open > 0:
		c.logf("left out %s with another split than fit", text.Plural(open, "row"))
	}
	return rows, nil
}

// matching describes the rows that patterns select.
func matching(patterns []string) string {
	if len(patterns) == 0 {
		return ""
	}
	return " and matches " + strings.Join(patterns, " or ")
}

// baseProfile returns the profile that --base names, or the profile of the machine of the rows.
func baseProfile(name string, rows []*accuracy.Row) (*machine.Profile, error) {
	measured, err := calibration.MachineOf(rows)
	if err != nil {
		return nil, err
	}
	if name == "" {
		if name = measured; name == "" {
			return nil, usagef("the files do not name the GPUs; name the profile of a similar machine by --base: %s", strings.Join(machine.Names(), ", "))
		}
	}
	if !strings.HasSuffix(name, ".toml") {
		p := scenarios.Machine(name)
		switch {
		case p != nil:
			return p, nil
		case name == measured:
			return nil, usagef("sim has no profile of %s; name the profile of a similar machine by --base: %s", name, strings.Join(machine.Names(), ", "))
		}
		return nil, usagef("there is no machine %q%s", name, text.DidYouMean(name, machine.Names(), "name a similar one by --base: "+strings.Join(machine.Names(), ", ")))
	}
	data, err := infile.Read(name, accuracy.MaxFileBytes)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return scenarios.ReadMachine(name, data)
}

// fitTitle returns the title of a profile that was fitted to rows.
func fitTitle(rows []*accuracy.Row, base *machine.Profile) string {
	title := base.Title
	for _, r := range rows {
		if r.Hardware != "" {
			title = r.Hardware
			break
		}
	}
	return title + ", calibrated"
}

// calibrationText returns the tables of sim calibrate: the fitted numbers, the errors, and the
// numbers that the measurements do not determine.
func calibrationText(fit *calibration.Fit, base *machine.Profile, path string, style text.Style) string {
	numbers := text.NewTable("number", base.Name, "fitted", "+-")
	const leftOut, worstLeftOut = "typical,\nleft out", "worst,\nleft out"
	errors := text.NewTable("measurements", "rows", "series", "typical\nfactor", "worst", leftOut, worstLeftOut, "worst row of the fit").Left(0, 7)
	hasLeftOut := false
	var undetermined strings.Builder
	const indentation = 2
	for _, g := range fit.Groups {
		for _, e := range g.Parameters {
			if e.Determined {
				numbers.Row(e.Key, e.Base, e.Value, fmt.Sprintf("%.0f %%", 100*e.Spread))
				continue
			}
			undetermined.WriteString(text.Wrap(e.Key+": "+e.Needs, style.ParagraphWidth(), indentation) + "\n")
		}
		row := []any{g.Title, g.Rows, len(g.Series), factorText(g.Error.Typical), factorText(g.Error.Worst), "", "", g.Error.Row.ID}
		if g.LeftOut.Rows > 0 {
			hasLeftOut = true
			row[5], row[6] = factorText(g.LeftOut.Typical), factorText(g.LeftOut.Worst)
		}
		errors.Row(row...)
	}
	var b strings.Builder
	if len(numbers.Rows) > 0 {
		b.WriteString(numbers.String(style) + "\n")
	}
	if undetermined.Len() > 0 {
		fmt.Fprintf(&b, "not determined, so as in %s; what determines them:\n%s\n", base.Name, undetermined.String())
	}
	b.WriteString(reasonText(fit.Unused, style))
	errors.Show(leftOut, hasLeftOut)
	errors.Show(worstLeftOut, hasLeftOut)
	b.WriteString(errors.String(style) + "\n")
	note := "The typical factor is exp of the mean absolute log ratio of predicted and measured values. "
	if hasLeftOut {
		note += "A series that is left out is predicted by a fit to all others."
	} else {
		note += "With a second series, such as another number of nodes, the error of predictions is known too."
	}
	b.WriteString(text.Wrap(note, style.ParagraphWidth(), noHang) + "\n\n")
	fmt.Fprintf(&b, "wrote %s; scenarios use it by machine = %q\n", path, path)
	return b.String()
}

// factorText formats a factor.
func factorText(v float64) string { return sheet.Digits(v, 4) }
