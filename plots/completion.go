package plots

import (
	"gonum.org/v1/plot/vg"

	"sim/scenarios/result"
)

// completionFigure shows how long a collective takes under each planner, or a training step that waits for it.
func completionFigure(doc *result.Document, d *result.Detail) []Figure {
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
	s := sheet{title: head + " by planner", subtitle: d.Title}
	s.legend = []entry{{"fastest", box(fill{vermillion, 1})}}
	if len(times) > 1 {
		s.legend = append(s.legend, entry{"other planners", box(fill{skyBlue, 1})})
	}
	most := 0.0
	for _, b := range times {
		most = max(most, b.value)
	}
	names := newNameRow(times)
	u := timeUnit(most)
	s.panels = []panel{{x1: 1, y1: 1, below: names.depth, plot: barPlot(times, names, u.name, most, u, doc.Best(metric))}}
	return []Figure{s.figure("completion", s.frame()+3.1*vg.Inch+names.depth)}
}
