package rankings

import (
	"embed"

	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	foldScript          = wire.Script(luaFiles, "fold.lua")
	applyCalendarScript = wire.Script(luaFiles, "apply_calendar.lua")
	rankedScript        = wire.Script(luaFiles, "ranked.lua")
	saveFrontScript     = wire.Script(luaFiles, "savefront.lua")
	beginFrontScript    = wire.Script(luaFiles, "beginfront.lua")
	frontPageScript     = wire.Script(luaFiles, "frontpage.lua")
	bestRankScript      = wire.Script(luaFiles, "bestrank.lua")
)
