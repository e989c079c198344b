package articles

import (
	"embed"

	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

// VotersScript adds placeholders to the voters of an imported article.
var VotersScript = wire.Script(luaFiles, "voters.lua")
