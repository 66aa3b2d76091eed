// This file describes scenarios in one line of text, for titles.

package paths

import (
	"fmt"
)

// Description returns one line that describes the workload and the fabric.
func (s *Scenario) Description() string {
	l, w := &s.Fabric, &s.Workload.Traffic
	work := s.Workload.Kind
	switch {
	case s.Workload.Call != nil:
		work = s.Workload.Call.Description()
	case s.Workload.Work != nil:
		work = s.Workload.Work.Description(s.Title)
	}

	text := fmt.Sprintf("%s on a %s, links of %v", work, l.Description(), l.LinkRate)
	if s.Title != "" && s.Workload.Work == nil { // work of ranks contains the title
		text = s.Title + ": " + text
	}

	// Append what sends, which depends on the level and the sources.
	switch {
	case s.Transport.IsUsed():
		text += fmt.Sprintf(", transport %s in packets of %v", s.Transport.Kind, w.Packet)
	case s.Engine.Level != "packet":
		text += ", level " + s.Engine.Level
	case s.HasDependencies():
		text += fmt.Sprintf(", packets of %v", w.Packet)
	case s.trafficKind().IsListed && s.HasMessageSizes(): // there is no single message size
		text += fmt.Sprintf(", %s sources, packets of %v", w.Source, w.Packet)
	case w.Source == "on-off":
		text += fmt.Sprintf(", flows of %v in packets of %v", w.Rate, w.Packet)
	case w.Source == "poisson":
		text += fmt.Sprintf(", Poisson sources at load %g", w.Load)
	default:
		text += fmt.Sprintf(", %s sources, %v in packets of %v", w.Source, w.Message, w.Packet)
	}

	return text
}
