package plots

import (
	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
)

// completionFigure shows how long a collective takes under each planner, or a training step that waits for it.
func completionFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
	if metricBars(doc, "reconfigurations", "") == nil {
		return nil
	}
	metric, head := "completion_s", "Completion of the collective"
	times := metricBars(doc, metric, "")
	if times == nil {
		metric, head = "makespan_s", "Time of the training step"
		times = metricBars(doc, metric, "")
	}
	if times == nil {
		return nil
	}
	s := sheet.Sheet{Title: head + " by planner", Subtitle: d.Title}
	s.Legend = []sheet.Entry{{Text: "fastest", Sample: sheet.Box(sheet.Fill{Color: sheet.Vermillion, Height: 1})}}
	if len(times) > 1 {
		s.Legend = append(s.Legend, sheet.Entry{Text: "other planners", Sample: sheet.Box(sheet.Fill{Color: sheet.SkyBlue, Height: 1})})
	}
	most := 0.0
	for _, b := range times {
		most = max(most, b.value)
	}
	names := newNameRow(times)
	u := sheet.TimeUnit(most)
	s.Panels = []sheet.Panel{{X1: 1, Y1: 1, Below: names.depth, Plot: barPlot(times, names, u.Name, most, u, doc.Best(metric))}}
	return []sheet.Figure{s.Figure("completion", s.Frame()+3.1*vg.Inch+names.depth)}
}
