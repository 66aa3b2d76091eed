// This file defines sim validate, which compares predictions with measurements of real machines.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"sim/internal/infile"
	"sim/internal/text"
	"sim/plots"
	"sim/plots/sheet"
	"sim/scenarios"
	"sim/scenarios/accuracy"
)

// validateCommand returns the definition of sim validate.
func (c *command) validateCommand() *cli.Command {
	return &cli.Command{
		Name:      "validate",
		Usage:     "predict published measurements of real machines, and print the errors by class",
		ArgsUsage: "[CLASS...]",
		Description: describe("The measurements are built in, each with its source; docs/accuracy.md summarises them.\n"+
			"A row that a machine profile may be fitted to is marked with * and not counted. The classes are\n"+
			text.Wrap(strings.Join(accuracy.ClassNames(), ", "), text.Width, noHang),
			example{"sim validate", "all rows, and the summary of each class"},
			example{"sim validate gemm kernels", "the rows of two classes"},
			example{"sim validate --data mine.csv --json", "rows of a file with the columns of the built-in ones, one JSON object each"}),
		Flags: []cli.Flag{
			stringFlag("machine", "predict only rows of the machine `M`: the name of a profile, or the file of a profile for rows of its GPU", "all machines"),
			stringFlag("data", "predict the rows of `FILE`, a CSV file, instead of the built-in ones", noDefault),
			boolFlag("json", "print one JSON object per line and row"),
			stringFlag("csv", "write the predictions to `FILE` as CSV", noDefault),
			stringFlag("out", "draw the predictions over the measurements, in `DIR`", noDefault),
			formatFlag(),
			repeatableFlag("without", "leave out the `PART` of the models, to measure its contribution: "+strings.Join(accuracy.Parts(), ", ")+" (repeatable)", noDefault),
			&cli.IntFlag{Name: "j", Usage: "use `N` processors; the results do not depend on N", DefaultText: "all"},
		},
		Action: c.validate,
	}
}

// Limits of the estimated cost of a row. Rows are simulated at the same time, and there are many.
const (
	maxRowBytes   = 4 << 30
	maxRowSeconds = 600
)

// validate predicts the rows that the arguments select and prints them.
func (c *command) validate(cc *cli.Context) error {
	opt := accuracy.Options{Machine: cc.String("machine"), Without: cc.StringSlice("without"), Workers: workers(cc)}
	for _, part := range opt.Without {
		if !slices.Contains(accuracy.Parts(), part) {
			return usagef("flag --without: no model has a part %q%s", part, text.DidYouMean(part, accuracy.Parts(), "there are "+strings.Join(accuracy.Parts(), ", ")))
		}
	}
	classes := cc.Args().Slice()
	for _, class := range classes {
		if !slices.Contains(accuracy.ClassNames(), class) {
			return usagef("there is no class %q%s", class, text.DidYouMean(class, accuracy.ClassNames(), "there are "+strings.Join(accuracy.ClassNames(), ", ")))
		}
	}

	formats, err := readFormats(cc)
	if err != nil {
		return err
	}

	// Read the rows and open the file before anything is computed.
	rows := accuracy.Ledger()
	var read []string // input files
	if path := cc.String("data"); path != "" {
		data, err := infile.Read(path, accuracy.MaxFileBytes)
		switch {
		case err != nil:
			return usagef("%v", err)
		case len(data) > accuracy.MaxFileBytes:
			return usagef("%s has more than %d bytes; divide it into files", path, accuracy.MaxFileBytes)
		}
		if rows, err = accuracy.Read(path, data); err == nil {
			err = accuracy.Check(rows)
		}
		if err != nil {
			return err
		}
		read = append(read, path)
	}
	if len(classes) > 0 {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r *accuracy.Row) bool { return !slices.Contains(classes, accuracy.ClassName(r)) })
	}
	if opt.Machine != "" {
		if rows, err = accuracy.RowsOf(opt.Machine, rows); err != nil {
			if errors.Is(err, scenarios.ErrInput) {
				return err
			}
			return usagef("flag --machine: %v", err)
		}
	}
	var file *outputFile
	if path := cc.String("csv"); path != "" {
		if file, err = createOutputFile(path, path, read); err != nil {
			return err
		}
		defer file.abort()
		c.cleanup.onAbandon(file.abort)
	}

	// Predict the rows. A row that is too large to simulate is a row without a prediction.
	scenarios.SetBudget(scenarios.Budget{Bytes: maxRowBytes, Seconds: maxRowSeconds})
	var done atomic.Int64
	opt.Progress = func() { done.Add(1) }
	m := c.startMeter(func(float64) progressState {
		n := int(done.Load())
		line := fmt.Sprintf("%d of %s", n, text.Plural(len(rows), "row"))
		return progressState{message: line, line: line, done: n, total: len(rows)}
	})
	predictions, err := accuracy.Predict(cc.Context, rows, opt)
	m.stop()
	if err != nil {
		return err
	}
	if file != nil {
		if err := file.write(func(w io.Writer) error { return accuracy.WriteCSV(w, predictions) }); err != nil {
			return err
		}
	}
	if dir := cc.String("out"); dir != "" {
		figures := validationFigures(predictions)
		if figures == nil {
			return errors.New("no row has a prediction, so that there is no figure to draw; without --out the reasons are printed")
		}
		if err := sheet.WriteAll(cc.Context, dir, formats, figures, opt.Workers); err != nil {
			return err
		}
	}
	if cc.Bool("json") {
		return accuracy.WriteJSON(c.stdout, predictions)
	}
	_, err = io.WriteString(c.stdout, validationText(predictions, c.style()))
	return err
}

// validationText returns the tables of sim validate: the predicted rows, the reasons why others
// have no prediction, and the summary of the classes.
func validationText(predictions []accuracy.Prediction, style text.Style) string {
	rows := text.NewTable("row", "machine", "measured", "predicted", "ratio", "unit").Left(0, 1, 5).Rank(0, 4, 2, 3, 5)
	hasFitted := false
	for i := range predictions {
		p := &predictions[i]
		if p.Reason != "" {
			continue
		}
		mark := ""
		if p.Row.Fitted {
			hasFitted, mark = true, "*"
		}
		const digits = 4
		rows.Row(p.Row.ID, p.Machine, sheet.Digits(p.Row.Value, digits), sheet.Digits(p.Value, digits), fmt.Sprintf("%.2f%s", p.Ratio(), mark), p.Row.Unit)
	}
	var b strings.Builder
	if len(rows.Rows) > 0 {
		b.WriteString(rows.String(style) + "\n")
	}
	if hasFitted {
		b.WriteString("* a machine profile may be fitted to this row; it is not counted as a prediction\n\n")
	}
	b.WriteString(reasonText(predictions, style))

	// Summaries, and the worst row of each class.
	summary := text.NewTable("class", "rows", "fitted", "predicted", "typical\nfactor", "median", "90 %", "worst")
	worst := text.NewTable("worst row of", "row", "machine", "ratio").Left(0, 1, 2)
	factor := func(v float64) string {
		if v == 0 {
			return ""
		}
		return fmt.Sprintf("%.3f", v)
	}
	for _, s := range accuracy.Summaries(predictions) {
		worstFactor := 0.0
		if p := s.Worst; p != nil {
			worstFactor = p.Factor()
			worst.Row(s.Class, p.Row.ID, p.Machine, fmt.Sprintf("%.2f", p.Ratio()))
		}
		summary.Row(s.Class, s.Points, s.Fitted, s.Predicted, factor(s.TypicalFactor), factor(s.MedianFactor), factor(s.P90Factor), factor(worstFactor))
	}
	b.WriteString(summary.String(style))
	if len(worst.Rows) > 0 {
		b.WriteString("\n" + worst.String(style))
	}
	b.WriteString("\n" + text.Wrap("The factor of a row is predicted / measured or its reciprocal, whichever is larger. "+
		"The typical factor is exp of the mean absolute log ratio of the rows that are not fitted.", style.ParagraphWidth(), noHang) + "\n")
	b.WriteString(ratioText(accuracy.Ratios(predictions), style))
	return b.String()
}

// ratioText returns the table of the ratios within series of training rows, and their summary.
func ratioText(ratios []accuracy.Ratio, style text.Style) string {
	if len(ratios) == 0 {
		return ""
	}
	table := text.NewTable("row", "relative to", "measured", "predicted", "points").Left(0, 1)
	for i := range ratios {
		r := &ratios[i]
		table.Row(r.Row.Row.ID, r.Base.Row.ID, fmt.Sprintf("%.3f", r.Measured), fmt.Sprintf("%.3f", r.Predicted), fmt.Sprintf("%.1f", r.Points()))
	}
	s := accuracy.SummariseRatios(ratios)
	line := fmt.Sprintf("Speeds per GPU within a series: %s, %d of them fitted; mean error %.1f points, median %.1f, 90 %% %.1f.",
		text.Plural(s.Points, "ratio"), s.Fitted, s.Mean, s.Median, s.P90)
	return "\n" + table.String(style) + "\n" + text.Wrap(line, style.ParagraphWidth(), noHang) + "\n"
}

// validationFigures returns the figure of the classes with predictions; none without predictions.
func validationFigures(predictions []accuracy.Prediction) []sheet.Figure {
	var classes []plots.ValidationClass
	for _, s := range accuracy.Summaries(predictions) {
		class := plots.ValidationClass{Title: s.Class}
		for i := range predictions {
			if p := &predictions[i]; p.Class == s.Class && p.Reason == "" {
				class.Points = append(class.Points, plots.ValidationPoint{Measured: p.Row.Value, Predicted: p.Value, Fitted: p.Row.Fitted})
			}
		}
		if class.Points != nil {
			classes = append(classes, class)
		}
	}
	if classes == nil {
		return nil
	}
	return []sheet.Figure{plots.Validation("Predictions and measurements", classes)}
}

// maxReasons limits the reasons that are printed.
const maxReasons = 20

// numbersOf matches the numbers of a reason.
var numbersOf = regexp.MustCompile(`[0-9., ]+`)

// reasonText returns the reasons why rows have no prediction, the most frequent first.
func reasonText(predictions []accuracy.Prediction, style text.Style) string {
	// Reasons that differ only in numbers count together; the first one is printed.
	type reason struct{ class, text string }
	count, first := map[reason]int{}, map[reason]string{}
	var order []reason
	for i := range predictions {
		if p := &predictions[i]; p.Reason != "" {
			r := reason{p.Class, numbersOf.ReplaceAllString(p.Reason, "")}
			if count[r] == 0 {
				order, first[r] = append(order, r), p.Reason
			}
			count[r]++
		}
	}
	if len(order) == 0 {
		return ""
	}
	slices.SortStableFunc(order, func(a, b reason) int { return cmp.Compare(count[b], count[a]) })
	var b strings.Builder
	b.WriteString("rows without a prediction:\n")
	const indentation = 2
	for i, r := range order {
		if i == maxReasons {
			fmt.Fprintf(&b, "and %s; --json lists all\n", text.Plural(len(order)-i, "more reason"))
			break
		}
		line := fmt.Sprintf("%d of %s: %s", count[r], r.class, text.Line(first[r], maxMessageBytes))
		b.WriteString(text.Wrap(line, style.ParagraphWidth(), indentation) + "\n")
	}
	return b.String() + "\n"
}
